#include "content/folder.h"

#include <thread>

#include "content/support.h"

namespace h2server::content {
namespace {

using tests::TemporaryDirectory;

// Entries stay fresh, so lookups show what the thread has cached.
constexpr FileCacheLimits for_ever{.fresh_ms = 1'000'000'000};

TEST(Folder, OpenErrors) {
  const TemporaryDirectory directory;
  directory.write("file", "");
  struct Row {
    std::string path;
    int error;
  };
  const std::vector<Row> rows = {
      {directory.path(), 0},
      {directory.path_of("gone"), ENOENT},
      {directory.path_of("file"), ENOTDIR},
      {"", ENOENT},
  };
  for (const Row& row : rows) {
    const auto folder = Folder::open(row.path);
    EXPECT_EQ(folder ? 0 : folder.error(), row.error) << row.path;
    if (folder) {
      EXPECT_EQ((*folder)->path(), row.path);
    }
  }
}

TEST(Folder, FoldersAndThreadsHaveCachesOfTheirOwn) {
  const TemporaryDirectory one;
  const TemporaryDirectory two;
  one.write("a", "one");
  two.write("a", "two");
  const auto first = *Folder::open(one.path(), for_ever);
  const auto second = *Folder::open(two.path(), for_ever);
  const FileRef file = first->find_now("a").file;
  ASSERT_NE(file, nullptr);
  EXPECT_EQ(std::string_view(file->bytes, 3), "one");
  EXPECT_EQ(first->find_now("a").file, file);
  EXPECT_EQ(std::string_view(second->find_now("a").file->bytes, 3), "two");
  FileRef elsewhere;
  std::thread([&] { elsewhere = first->find_now("a").file; }).join();
  ASSERT_NE(elsewhere, nullptr);
  EXPECT_NE(elsewhere, file);
  EXPECT_EQ(std::string_view(elsewhere->bytes, 3), "one") << "it outlives its thread";
}

// A number that is never reused names the cache, so a new folder does not inherit another's files.
TEST(Folder, CachesAreNotInherited) {
  for (int round = 0; round < 10; ++round) {
    const TemporaryDirectory directory;
    const std::string text = std::to_string(round);
    directory.write("a", text);
    const auto folder = *Folder::open(directory.path(), for_ever);
    EXPECT_EQ(std::string_view(folder->find_now("a").file->bytes, 1), text);
  }
}

TEST(Folder, LoadFileFromFileCache) {
  const TemporaryDirectory directory;
  directory.write("sub/a.txt", "text");
  const auto folder = *Folder::open(directory.path());
  EXPECT_EQ(load_file_from_filecache("sub/a.txt"), nullptr) << "no folder yet";
  set_thread_folder(folder.get());
  const FileRef file = load_file_from_filecache("sub/a.txt");
  ASSERT_NE(file, nullptr);
  EXPECT_EQ(std::string_view(file->bytes, 4), "text");
  EXPECT_EQ(load_file_from_filecache("/sub/a.txt")->etag, file->etag);
  for (const char* const path : {"", "sub", "gone", "../a.txt", "sub/../../x"}) {
    EXPECT_EQ(load_file_from_filecache(path), nullptr) << path;
  }
  std::thread([] { EXPECT_EQ(load_file_from_filecache("sub/a.txt"), nullptr); }).join();
  set_thread_folder(nullptr);
  EXPECT_EQ(load_file_from_filecache("sub/a.txt"), nullptr);
}

TEST(Folder, Refusals) {
  using Kind = Lookup::Kind;
  EXPECT_EQ(refusal(Kind::absent).status(), 404);
  EXPECT_EQ(refusal(Kind::directory).status(), 404);
  EXPECT_EQ(refusal(Kind::forbidden).status(), 403);
  const Response failed = refusal(Kind::failed);
  EXPECT_EQ(failed.status(), 503);
  EXPECT_EQ(tests::field_of(failed, "Retry-After"), "1");
}

}  // namespace
}  // namespace h2server::content
