#include "content/archive/archive.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "content/archive_support.h"
#include "content/names/file_name.h"

namespace h2server::content {
namespace archive_test {

TEST_F(Archive, FilesAndFolders) {
  directory_.write("top/b.txt", "b");
  directory_.write("top/a/x", "xx");
  directory_.write("top/a/empty", "");
  std::filesystem::create_directory(directory_.path_of("top/c"));
  directory_.write("beside", "not in it");
  const Tree expected = {{"T", "/"},      {"T/a", "/"},     {"T/a/empty", ""},
                         {"T/a/x", "xx"}, {"T/b.txt", "b"}, {"T/c", "/"}};
  for (const ArchiveFormat format : formats) EXPECT_EQ(tree(format), expected);
}

// The order is that of the bytes, with folders and files among each other.
TEST_F(Archive, SortedDepthFirst) {
  for (const char* name : {"top/b", "top/a/2", "top/a/10", "top/C", "top/\u00e4", "top/a.x"}) {
    directory_.write(name, "");
  }
  const std::string made = *archive(ArchiveFormat::zip);
  std::vector<std::size_t> places;
  for (const std::string path :
       {"T/", "T/C", "T/a/", "T/a/10", "T/a/2", "T/a.x", "T/b", "T/\u00e4"}) {
    places.push_back(made.find(path + "UT"));
    EXPECT_NE(places.back(), std::string::npos) << path;
  }
  EXPECT_TRUE(std::ranges::is_sorted(places));
}

TEST_F(Archive, ServedFolderItself) {
  directory_.write("top/x", "x");
  const std::unique_ptr<BodySource> source = open(ArchiveFormat::tar, {}, "");
  const Tree expected = {{"T", "/"}, {"T/top", "/"}, {"T/top/x", "x"}};
  EXPECT_EQ(tree_of_tar(*read(*source)), expected);
}

TEST_F(Archive, NameOfTheTopFolder) {
  const std::vector<std::pair<std::string, std::string>> rows = {
      {"a b", "a b/"}, {"", "files/"}, {".", "files/"}, {"..", "files/"}, {"a/../b", "a_.._b/"}};
  for (const auto& [name, expected] : rows) {
    const auto source = make_archive(folder_, "top", name, ArchiveFormat::tar);
    EXPECT_EQ(std::string((*read(*source)).c_str()), expected);
  }
  const auto source = make_archive(folder_, "top", "con:", ArchiveFormat::zip);
  EXPECT_TRUE((*read(*source)).substr(30).starts_with("con_/"));
}

TEST_F(Archive, NoSuchFolder) {
  directory_.write("file", "");
  link("/", "out");
  const std::vector<std::pair<std::string, int>> rows = {
      {"gone", ENOENT}, {"file", ENOTDIR}, {"out", ENOENT}, {"top/../..", ENOENT}};
  for (const auto& [path, code] : rows) {
    const std::unique_ptr<BodySource> source = open(ArchiveFormat::tar, {}, path);
    const Result<std::string> made = read(*source);
    ASSERT_FALSE(made) << path;
    EXPECT_EQ(made.error().code, code) << path;
  }
}

TEST_F(Archive, HiddenNames) {
  directory_.write("top/.hidden", "h");
  directory_.write("top/.folder/x", "x");
  directory_.write("top/...", "dots");
  directory_.write("top/" + std::string(temporary_file_prefix) + "1_2_3", "part of an upload");
  for (const ArchiveFormat format : formats) EXPECT_EQ(tree(format), (Tree{{"T", "/"}}));
  const Tree all = {
      {"T", "/"}, {"T/...", "dots"}, {"T/.folder", "/"}, {"T/.folder/x", "x"}, {"T/.hidden", "h"}};
  EXPECT_EQ(tree(ArchiveFormat::tar, {.hidden = true}), all);
}

TEST_F(Archive, Links) {
  directory_.write("beside/x", "content");
  directory_.write("top/sub/y", "y");
  link("../beside/x", "top/to file");
  link("../beside", "top/to folder");
  link("..", "top/sub/up");
  link("to file", "top/to link");
  link("loop", "top/loop");
  link("nowhere", "top/dangling");
  link("../../../../../../etc/passwd", "top/out");
  link("/etc/passwd", "top/absolute");
  link("/proc/self/exe", "top/magic");
  const Tree expected = {{"T", "/"},
                         {"T/sub", "/"},
                         {"T/sub/y", "y"},
                         {"T/to file", "content"},
                         {"T/to link", "content"}};
  for (const ArchiveFormat format : formats) EXPECT_EQ(tree(format), expected);
}

// Opening a FIFO would wait for its writer.
TEST_F(Archive, SpecialFilesAreLeftOut) {
  ASSERT_EQ(::mkfifo(directory_.path_of("top/fifo").c_str(), 0644), 0);
  link("fifo", "top/to fifo");
  const base::Fd socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_un address{.sun_family = AF_UNIX, .sun_path = {}};
  const std::string path = directory_.path_of("top/socket");
  ASSERT_LT(path.size(), sizeof address.sun_path);
  path.copy(address.sun_path, path.size());
  ASSERT_EQ(::bind(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
  link("socket", "top/to socket");
  for (const ArchiveFormat format : formats) EXPECT_EQ(tree(format), (Tree{{"T", "/"}}));
}

TEST_F(Archive, NamesInAZip) {
  directory_.write("top/A:B/x", "1");
  directory_.write("top/A*B/x", "2");
  directory_.write("top/nul", "3");
  directory_.write("top/\xff", "4");
  const Tree expected = {{"T", "/"},         {"T/A_B", "/"},       {"T/A_B/x", "2"},
                         {"T/A_B (2)", "/"}, {"T/A_B (2)/x", "1"}, {"T/_nul", "3"},
                         {"T/\ufffd", "4"}};
  EXPECT_EQ(tree(ArchiveFormat::zip), expected);
}

TEST_F(Archive, TimesOfFilesAndFolders) {
  directory_.write("top/a", "");
  directory_.set_modified("top/a", 1'000'000'000);
  directory_.set_modified("top", 1'000'000'001);
  const std::string made = *archive(ArchiveFormat::tar);
  EXPECT_EQ(made.substr(136, 11), "07346545001");
  EXPECT_EQ(made.substr(512 + 136, 11), "07346545000");
}

}  // namespace archive_test
}  // namespace h2server::content
