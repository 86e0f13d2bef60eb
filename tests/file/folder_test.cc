#include "file/folder.h"

#include <thread>

#include "content/support.h"
#include "file/support.h"

namespace h2server::file {
namespace folder_test {

using tests::TemporaryDirectory;

using tests::bytes_of;

// Entries stay fresh, so lookups show what the cache has.
const FolderOptions believing{.make_file = http::make_file, .fresh_ms = 1'000'000'000};

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
    const auto folder = Folder::open(row.path, believing);
    EXPECT_EQ(folder ? 0 : folder.error(), row.error) << row.path;
    if (folder) {
      EXPECT_EQ((*folder)->path(), row.path);
    }
  }
}

TEST(Folder, ThreadsShareTheFilesOfAFolder) {
  const TemporaryDirectory one;
  const TemporaryDirectory two;
  one.write("a", "one");
  two.write("a", "two");
  const auto first = *Folder::open(one.path(), believing);
  const auto second = *Folder::open(two.path(), believing);
  const FileRef file = first->find_now("a").file;
  ASSERT_NE(file, nullptr);
  EXPECT_EQ(bytes_of(*file), "one");
  EXPECT_EQ(bytes_of(*second->find_now("a").file), "two");
  std::thread([&] { EXPECT_EQ(first->find_now("a").file, file); }).join();
  EXPECT_EQ(first->known("a")->file, file);
  EXPECT_EQ(first->known("b"), std::nullopt);
}

TEST(Folder, FilesAreNotInheritedByAnotherFolder) {
  for (int round = 0; round < 10; ++round) {
    const TemporaryDirectory directory;
    const std::string text = std::to_string(round);
    directory.write("a", text);
    const auto folder = *Folder::open(directory.path(), believing);
    EXPECT_EQ(bytes_of(*folder->find_now("a").file), text);
  }
}

}  // namespace folder_test
}  // namespace h2server::file
