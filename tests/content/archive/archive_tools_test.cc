// Archives are unpacked by other programs, and read on engines.
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <string_view>

#include "content/archive_support.h"
#include "io/support.h"

namespace h2server::content {
namespace archive_tools_test {

Tree read_tree(const std::filesystem::path& top) {
  Tree tree;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(top)) {
    const std::string path = std::filesystem::relative(entry.path(), top);
    if (entry.is_directory()) {
      tree[path] = "/";
    } else {
      std::ifstream in(entry.path(), std::ios::binary);
      tree[path] = std::string(std::istreambuf_iterator<char>(in), {});
    }
  }
  return tree;
}

// --- Other programs read it ---

struct Tool {
  std::string name;
  std::string program;
  ArchiveFormat format;
  std::string command;  // unpacks ARCHIVE into the current directory
};

const Tool tools[] = {
    {"Tar", "tar", ArchiveFormat::tar, "tar -xf ARCHIVE"},
    {"BsdtarTar", "bsdtar", ArchiveFormat::tar, "bsdtar -xf ARCHIVE"},
    {"PythonTar", "python3", ArchiveFormat::tar, "python3 -m tarfile -e ARCHIVE"},
    {"Unzip", "unzip", ArchiveFormat::zip, "unzip -q -t ARCHIVE && unzip -q ARCHIVE"},
    {"BsdtarZip", "bsdtar", ArchiveFormat::zip, "bsdtar -xf ARCHIVE"},
    // From a pipe, so by the local headers and the descriptors.
    {"BsdtarZipStream", "bsdtar", ArchiveFormat::zip, "cat ARCHIVE | bsdtar -xf -"},
    {"PythonZip", "python3", ArchiveFormat::zip,
     "python3 -m zipfile -t ARCHIVE && python3 -m zipfile -e ARCHIVE ."},
};

class UnpackedArchive : public Archive, public testing::WithParamInterface<Tool> {
 protected:
  // Makes a tree with what is difficult in names and sizes.
  void make_difficult_tree() {
    const std::string long_name(200, 'n');
    directory_.write("top/empty", "");
    std::filesystem::create_directories(directory_.path_of("top/empty folder"));
    directory_.write("top/large", std::string(300'000, 'x') + "end");
    directory_.write("top/one block", std::string(512, 'b'));
    directory_.write("top/\u00e4\u4e16\U0001f600/\u00df.txt", "not ASCII");
    directory_.write("top/" + long_name + "/" + long_name + "/" + long_name, "deep");
    directory_.write("top/a/b/c/d/e", "nested");
    directory_.set_modified("top/large", 1'000'000'000);
    directory_.set_modified("top/a", 1'000'000'000);
  }
};

TEST_P(UnpackedArchive, IsWhatWasArchived) {
  const Tool& tool = GetParam();
  if (std::system(("command -v " + tool.program + " > /dev/null").c_str()) != 0) {
    GTEST_SKIP() << "there is no " << tool.program;
  }
  make_difficult_tree();
  directory_.write("archive", *archive(tool.format));
  std::filesystem::create_directory(directory_.path_of("unpacked"));
  std::string command =
      "cd '" + directory_.path_of("unpacked") + "' && export LC_ALL=C.UTF-8 TZ=UTC";
  command += " && { " + tool.command + "; } > ../log 2>&1";
  while (command.contains("ARCHIVE")) command.replace(command.find("ARCHIVE"), 7, "../archive");
  ASSERT_EQ(std::system(command.c_str()), 0) << directory_.read("log").value_or("");
  const std::filesystem::path unpacked = directory_.path_of("unpacked/T");
  EXPECT_EQ(read_tree(unpacked), read_tree(directory_.path_of("top")));
  if (tool.program == "python3" && tool.format == ArchiveFormat::zip) return;  // it drops the times
  for (const std::string name : {"large", "a"}) {
    struct stat status{};
    ASSERT_EQ(::stat((unpacked / name).c_str(), &status), 0);
    EXPECT_EQ(status.st_mtim.tv_sec, 1'000'000'000) << name;
    EXPECT_EQ(status.st_mode & 0700U, name == "a" ? 0700U : 0600U) << name;
  }
}

INSTANTIATE_TEST_SUITE_P(Tools, UnpackedArchive, testing::ValuesIn(tools),
                         [](const auto& tool) { return tool.param.name; });

// --- On an engine ---

class ArchiveOnEngine : public io::EngineFixture,
                        public testing::WithParamInterface<io::EngineKind> {
 protected:
  ArchiveOnEngine() : io::EngineFixture(io::open_engine_here(GetParam())) {
    directory_.write("top/large", std::string(1'000'000, 'x'));
    for (int i = 0; i < 200; ++i) directory_.write("top/" + std::to_string(i), "small");
    folder_ = *file::Folder::open(directory_.path(), {.make_file = http::make_file});
    source_ = make_archive(folder_, "top", "T", ArchiveFormat::tar);
  }

  tests::TemporaryDirectory directory_;
  std::shared_ptr<const file::Folder> folder_;
  std::unique_ptr<BodySource> source_;
};

TEST_P(ArchiveOnEngine, WaitsForFileThreads) {
  std::string made;
  run([](BodySource& source, std::string& out) -> Task<void> {
    const Result<std::string> all = co_await http::read_all(source, archive_bytes_max, "archive");
    EXPECT_TRUE(all);
    out = all.value_or("");
  }(*source_, made));
  const Tree tree = tree_of_tar(made);
  EXPECT_EQ(tree.size(), 202U);
  EXPECT_EQ(tree.at("T/large"), std::string(1'000'000, 'x'));
}

TEST_P(ArchiveOnEngine, IsInterrupted) {
  run([](BodySource& source) -> Task<void> {
    const Result<std::string_view> first = co_await source.read();
    EXPECT_TRUE(first);
    source.interrupt();
    const Result<std::string_view> next = co_await source.read();
    EXPECT_FALSE(next);
    EXPECT_EQ(next ? 0 : next.error().code, ECANCELED);
  }(*source_));
}

INSTANTIATE_TEST_SUITE_P(Engines, ArchiveOnEngine, testing::ValuesIn(io::engines_here()),
                         io::engine_name);

}  // namespace archive_tools_test
}  // namespace h2server::content
