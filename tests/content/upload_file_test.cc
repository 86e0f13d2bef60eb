#include "content/upload_file.h"

#include <thread>

#include "content/support.h"

namespace h2server::content {
namespace {

using Names = std::vector<std::string>;

class UploadFileTest : public testing::Test {
 protected:
  UploadFile open(const std::string& name, std::string_view content) {
    Result<UploadFile, int> file = UploadFile::open(directory_.fd(), name);
    EXPECT_TRUE(file);
    EXPECT_TRUE(file->write(content));
    return *std::move(file);
  }

  static int commit(UploadFile& file, bool overwrite) {
    const Result<void, int> done = file.commit(overwrite);
    return done ? 0 : done.error();
  }

  tests::TemporaryDirectory directory_;
};

TEST_F(UploadFileTest, ATemporaryNameUntilItIsCommitted) {
  {
    UploadFile file = open("a", "12");
    const Names names = directory_.names();
    ASSERT_EQ(names.size(), 1U);
    EXPECT_TRUE(names[0].starts_with("h2_tmp_" + std::to_string(::gettid()) + "_")) << names[0];
    EXPECT_TRUE(file.write("345"));
    EXPECT_EQ(file.size(), 5U);
    EXPECT_EQ(file.name(), "a");
    EXPECT_TRUE(file.close());
    EXPECT_EQ(commit(file, false), 0);
    EXPECT_EQ(directory_.names(), Names{"a"});
  }
  EXPECT_EQ(directory_.read("a"), "12345") << "it outlives its object";
}

TEST_F(UploadFileTest, GoneUnlessItWasCommitted) {
  {
    const UploadFile file = open("a", "1");
  }
  EXPECT_EQ(directory_.names(), Names{});
  {
    UploadFile file = open("a", "1");
    const UploadFile moved = std::move(file);
    EXPECT_EQ(directory_.names().size(), 1U);
    EXPECT_EQ(moved.size(), 1U);
  }
  EXPECT_EQ(directory_.names(), Names{});
}

TEST_F(UploadFileTest, CommitTable) {
  enum class There { nothing, file, link, directory };
  struct Row {
    There there;
    bool overwrite;
    int error;
  };
  const std::vector<Row> rows = {
      {There::nothing, false, 0},        {There::nothing, true, 0},
      {There::file, false, EEXIST},      {There::file, true, 0},
      {There::link, false, EEXIST},      {There::link, true, 0},
      {There::directory, false, EEXIST}, {There::directory, true, EISDIR},
  };
  for (const Row& row : rows) {
    const tests::TemporaryDirectory own;
    own.write("old", "old");
    if (row.there == There::file) own.write("a", "old");
    if (row.there == There::link) {
      ASSERT_EQ(::symlinkat("old", own.fd(), "a"), 0);
    }
    if (row.there == There::directory) {
      ASSERT_EQ(::mkdirat(own.fd(), "a", 0755), 0);
    }
    {
      Result<UploadFile, int> file = UploadFile::open(own.fd(), "a");
      ASSERT_TRUE(file && file->write("new"));
      EXPECT_EQ(commit(*file, row.overwrite), row.error);
    }
    const bool exists = row.error == 0 || row.there != There::nothing;
    EXPECT_EQ(own.names(), exists ? (Names{"a", "old"}) : (Names{"old"}));
    if (row.error == 0) {
      EXPECT_EQ(own.read("a"), "new");
    }
    EXPECT_EQ(own.read("old"), "old") << "a link was written through";
  }
}

TEST_F(UploadFileTest, AnErrorOfCommitLeavesTheChoice) {
  directory_.write("a", "old");
  UploadFile file = open("a", "new");
  EXPECT_EQ(commit(file, false), EEXIST);
  EXPECT_EQ(directory_.read("a"), "old");
  EXPECT_EQ(commit(file, true), 0);
  EXPECT_EQ(directory_.read("a"), "new");
  EXPECT_EQ(directory_.names().front(), "a");
}

TEST_F(UploadFileTest, RevokeTakesBackWhatCommitDid) {
  UploadFile fresh = open("a", "new");
  ASSERT_EQ(commit(fresh, false), 0);
  fresh.revoke();
  EXPECT_EQ(directory_.names(), Names{});

  directory_.write("b", "old");
  {
    UploadFile replacing = open("b", "new");
    ASSERT_EQ(commit(replacing, true), 0);
    EXPECT_EQ(directory_.read("b"), "new");
    replacing.revoke();
    EXPECT_EQ(directory_.read("b"), "old") << "what was replaced comes back";
  }
  EXPECT_EQ(directory_.names(), Names{"b"});
}

TEST_F(UploadFileTest, WhatWasReplacedGoesWithTheObject) {
  directory_.write("b", "old");
  {
    UploadFile file = open("b", "new");
    ASSERT_EQ(commit(file, true), 0);
  }
  EXPECT_EQ(directory_.names(), Names{"b"});
  EXPECT_EQ(directory_.read("b"), "new");
}

// What an earlier process with the same thread number left does not stand in the way.
TEST_F(UploadFileTest, TemporaryNamesDiffer) {
  std::thread([&] {  // a new thread counts from 0
    const std::string first = "h2_tmp_" + std::to_string(::gettid()) + "_";
    for (const char* const count : {"0", "1", "3"}) directory_.write(first + count, "left");
    {
      const UploadFile two = open("a", "");
      const UploadFile four = open("a", "");
      EXPECT_EQ(directory_.names(),
                (Names{first + "0", first + "1", first + "2", first + "3", first + "4"}));
      std::thread([&] {
        const UploadFile other = open("a", "");
        EXPECT_EQ(directory_.names().size(), 6U);
      }).join();
    }
    EXPECT_EQ(directory_.names(), (Names{first + "0", first + "1", first + "3"}));
    EXPECT_EQ(directory_.read(first + "0"), "left");
  })
      .join();
}

TEST_F(UploadFileTest, OpenErrors) {
  const Result<UploadFile, int> nowhere = UploadFile::open(-1, "a");
  ASSERT_FALSE(nowhere);
  EXPECT_EQ(nowhere.error(), EBADF);
  const tests::LoweredLimit limit(RLIMIT_NOFILE, tests::descriptors_in_use());
  const Result<UploadFile, int> file = UploadFile::open(directory_.fd(), "a");
  ASSERT_FALSE(file);
  EXPECT_EQ(file.error(), EMFILE);
}

}  // namespace
}  // namespace h2server::content
