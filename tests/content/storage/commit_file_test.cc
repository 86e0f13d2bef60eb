#include "content/storage/commit_file.h"

#include <sys/stat.h>

#include "content/support.h"
#include "file/open_beneath.h"
#include "http/file_head.h"

namespace h2server::content {
namespace commit_file_test {

using Names = std::vector<std::string>;

TEST(CommitFile, Table) {
  enum class There { nothing, file, directory };
  struct Row {
    There there;
    Existing existing;
    int error;
  };
  const std::vector<Row> rows = {
      {There::nothing, Existing::refuse, 0},        {There::nothing, Existing::replace, 0},
      {There::file, Existing::refuse, EEXIST},      {There::file, Existing::replace, 0},
      {There::directory, Existing::refuse, EEXIST}, {There::directory, Existing::replace, EISDIR},
  };
  for (const Row& row : rows) {
    for (const Durability durability :
         {Durability::none, Durability::file, Durability::file_and_directory}) {
      const tests::TemporaryDirectory from;
      const tests::TemporaryDirectory to;
      from.write("temporary", "new");
      if (row.there == There::file) to.write("a", "old");
      if (row.there == There::directory) to.write("a/x", "old");
      const base::Fd file(::openat(from.fd(), "temporary", O_WRONLY | O_CLOEXEC));
      const base::Fd folder(::openat(to.fd(), ".", O_PATH | O_DIRECTORY | O_CLOEXEC));
      const Result<void, int> done = commit_file(file.get(), from.fd(), "temporary", folder.get(),
                                                 "a", row.existing, durability);
      EXPECT_EQ(done ? 0 : done.error(), row.error);
      EXPECT_EQ(from.names(), row.error == 0 ? Names{} : Names{"temporary"});
      if (row.there != There::directory) {
        const auto expected = row.error == 0                ? std::optional<std::string>("new")
                              : row.there == There::nothing ? std::nullopt
                                                            : std::optional<std::string>("old");
        EXPECT_EQ(to.read("a"), expected);
      }
    }
  }
}

// A descriptor that can't be synced shows that it is tried, and that nothing is renamed then.
TEST(CommitFile, SyncsBeforeItRenames) {
  const tests::TemporaryDirectory directory;
  directory.write("temporary", "new");
  const auto commit = [&](Durability durability) {
    const Result<void, int> done = commit_file(-1, directory.fd(), "temporary", directory.fd(), "a",
                                               Existing::refuse, durability);
    return done ? 0 : done.error();
  };
  EXPECT_EQ(commit(Durability::file), EBADF);
  EXPECT_EQ(commit(Durability::file_and_directory), EBADF);
  EXPECT_EQ(directory.names(), Names{"temporary"});
  EXPECT_EQ(commit(Durability::none), 0);
  EXPECT_EQ(directory.names(), Names{"a"});
}

TEST(CommitFile, WhatHasNoSyncSucceeds) {
  int ends[2] = {};
  ASSERT_EQ(::pipe2(ends, O_CLOEXEC), 0);
  const base::Fd reader(ends[0]);
  const base::Fd writer(ends[1]);
  EXPECT_TRUE(sync_file(writer.get()));  // EINVAL
  const Result<void, int> none = sync_directory(-1);
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error(), EBADF);
}

TEST(CommitFile, EntityTagsAreThoseOfDownloads) {
  const tests::TemporaryDirectory directory;
  directory.write("a", "content");
  const std::string tag = etag_of(directory.fd(), "a");
  const auto file = file::open_beneath_now(directory.fd(), "a", O_RDONLY);
  ASSERT_TRUE(file);
  const file::FileVersion version = file::version_of(file->get()).value();
  EXPECT_EQ(tag, http::FileHead(version, "text/plain", 0).etag);
  EXPECT_TRUE(tag.starts_with('"') && tag.ends_with('"')) << tag;
  directory.write("b", "content");
  EXPECT_NE(etag_of(directory.fd(), "b"), tag);
  EXPECT_EQ(etag_of(directory.fd(), "gone"), "");
}

}  // namespace commit_file_test
}  // namespace h2server::content
