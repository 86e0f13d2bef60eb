#include "content/storage/upload_file.h"

#include <sys/wait.h>

#include <array>
#include <csignal>

#include "content/support.h"

namespace h2server::content {
namespace upload_file_test {

using Names = std::vector<std::string>;

class UploadFileTest : public testing::Test {
 protected:
  UploadFile open(const std::string& name, std::string_view content) {
    Result<UploadFile, int> file = UploadFile::open(names_, name);
    EXPECT_TRUE(file);
    EXPECT_TRUE(file->write(content));
    return *std::move(file);
  }

  static int commit(UploadFile& file, bool overwrite) {
    const Result<void, int> done = file.commit(overwrite ? Existing::replace : Existing::refuse);
    return done ? 0 : done.error();
  }

  tests::TemporaryDirectory directory_;
  TemporaryNames names_{directory_.fd()};
};

TEST_F(UploadFileTest, ATemporaryNameUntilItIsCommitted) {
  {
    UploadFile file = open("a", "12");
    const Names names = directory_.names();
    ASSERT_EQ(names.size(), 1U);
    EXPECT_TRUE(names[0].starts_with("h2_tmp_" + std::to_string(::getpid()) + "_")) << names[0];
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
      TemporaryNames names(own.fd());
      Result<UploadFile, int> file = UploadFile::open(names, "a");
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

TEST_F(UploadFileTest, ReportsWhatWasStored) {
  for (const bool sha256 : {false, true}) {
    Result<UploadFile, int> file = UploadFile::open(names_, "a", {.sha256 = sha256});
    ASSERT_TRUE(file && file->write("con") && file->write("tent"));
    UploadFile moved = std::move(*file);
    ASSERT_TRUE(moved.close());
    ASSERT_EQ(commit(moved, true), 0);
    const StoredFile stored = moved.stored();
    EXPECT_EQ(stored.name, "a");
    EXPECT_EQ(stored.size, 7U);
    EXPECT_EQ(stored.sha256,
              sha256 ? "ed7002b439e9ac845f22357d822bac1444730fbdb6016d3ec9432297b9ec9f73" : "");
    EXPECT_EQ(stored.etag, etag_of(directory_.fd(), "a"));
    EXPECT_EQ(stored.replaced, sha256) << "the second one";
  }
}

TEST_F(UploadFileTest, FoldersAreMadeAtTheEnd) {
  directory_.write("kept/x", "");
  {
    UploadFile file = open("new/deep/a", "1");
    UploadFile other = open("kept/a", "2");
    EXPECT_FALSE(std::filesystem::exists(directory_.path_of("new")));
    ASSERT_EQ(commit(other, false), 0);
    ASSERT_EQ(commit(file, false), 0);
    EXPECT_EQ(file.made(), (Names{"new", "new/deep"}));
    EXPECT_EQ(other.made(), Names{});
    EXPECT_EQ(directory_.read("new/deep/a"), "1");
    EXPECT_EQ(directory_.read("kept/a"), "2");
    const std::array<UploadFile, 2> both = {std::move(file), std::move(other)};
    EXPECT_TRUE(sync_folders(directory_.fd(), both));
  }
  EXPECT_EQ(directory_.names(), (Names{"kept", "new"}));
  directory_.write("kept/b", "old");
  UploadFile replacing = open("kept/b", "3");
  UploadFile fresh = open("fresh/c", "4");
  ASSERT_EQ(commit(replacing, true), 0);
  ASSERT_EQ(commit(fresh, false), 0);
  replacing.revoke();
  fresh.revoke();
  EXPECT_EQ(directory_.read("kept/b"), "old");
  EXPECT_EQ(directory_.names(), (Names{"kept", "new"})) << "what was made is removed";
}

TEST_F(UploadFileTest, AFailureLeavesNoFolder) {
  directory_.write("file", "");
  directory_.write("folder/x", "");
  UploadFile file = open("file/a", "1");
  EXPECT_EQ(commit(file, false), ENOTDIR);
  UploadFile folder = open("folder", "1");
  EXPECT_EQ(commit(folder, true), EISDIR);
  const std::string long_name(256, 'x');
  UploadFile other = open("new/" + long_name, "1");
  EXPECT_EQ(commit(other, false), ENAMETOOLONG);
  EXPECT_FALSE(std::filesystem::exists(directory_.path_of("new")));
}

TEST_F(UploadFileTest, AllocatesNoMoreThanTheSize) {
  Result<UploadFile, int> file = UploadFile::open(names_, "a", {.size = 200'000});
  ASSERT_TRUE(file);
  const Result<std::uint64_t, int> first = file->allocate(150'000);
  ASSERT_TRUE(first);
  if (*first == 0) GTEST_SKIP() << "this file system allocates nothing";
  EXPECT_EQ(*first, 150'000U);
  EXPECT_EQ(file->allocate(150'000), 0U) << "nothing of it is used yet";
  ASSERT_TRUE(file->write(std::string(150'000, 'x')));
  EXPECT_EQ(file->allocate(0), 0U);
  EXPECT_EQ(file->allocate(150'000), 50'000U);
  ASSERT_TRUE(file->write(std::string(50'000, 'x')));
  EXPECT_EQ(file->allocate(150'000), 0U);
  Result<UploadFile, int> unknown = UploadFile::open(names_, "b", {});
  ASSERT_TRUE(unknown);
  EXPECT_EQ(unknown->allocate(150'000), 0U);
}

TEST_F(UploadFileTest, SyncingReportsErrors) {
  const Result<void, int> none = sync_folders(-1, std::array{open("a", "")});
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error(), EBADF);
  for (const Durability durability : {Durability::file, Durability::file_and_directory}) {
    Result<UploadFile, int> file = UploadFile::open(names_, "a", {.durability = durability});
    ASSERT_TRUE(file);
    ASSERT_TRUE(file->write(std::string(2 * UploadFile::written_behind_bytes, 'x')));
    EXPECT_TRUE(file->close());
  }
}

// --- temporary names --------------------------------------------------------------------------

// Returns the name without the file's number.
std::string request_of(const std::string& name) { return name.substr(0, name.rfind('_')); }

TEST_F(UploadFileTest, TemporaryNamesOfARequest) {
  const UploadFile zero = open("a", "");
  const UploadFile one = open("b", "");
  const Names names = directory_.names();
  ASSERT_EQ(names.size(), 2U);
  const std::string request = request_of(names[0]);
  EXPECT_EQ(names, (Names{request + "_0", request + "_1"}));
  TemporaryNames other(directory_.fd());
  const auto file = UploadFile::open(other, "c");
  ASSERT_EQ(directory_.names().size(), 3U);
  EXPECT_NE(request_of(directory_.names()[2]), request);
}

// A file left by an earlier process with the same ID does not cause a conflict.
TEST_F(UploadFileTest, TemporaryNamesThatAreTaken) {
  std::string next;
  {
    const UploadFile file = open("a", "");
    const std::string request = request_of(directory_.names()[0]);
    const std::size_t number = request.rfind('_') + 1;
    next = request.substr(0, number) + std::to_string(std::stoull(request.substr(number)) + 1);
  }
  directory_.write(next + "_0", "left");
  TemporaryNames names(directory_.fd());
  const auto file = UploadFile::open(names, "b");
  ASSERT_TRUE(file);
  EXPECT_EQ(directory_.names().size(), 2U);
  EXPECT_EQ(directory_.read(next + "_0"), "left");
}

TEST_F(UploadFileTest, RemovesWhatNobodyHolds) {
  directory_.write("h2_tmp_1_2_0", "killed");
  directory_.write("h2_tmp_1_2_1", "killed");
  directory_.write("h2_tmp_1_3_7", "killed while it gave names");
  directory_.write("h2_tmp_4_5", "by an older version");
  directory_.write("h2_tmp", "somebody's");
  directory_.write("a", "somebody's");
  UploadFile zero = open("z", "0");
  UploadFile one = open("o", "1");
  ASSERT_TRUE(zero.close() && one.close());
  EXPECT_TRUE(remove_abandoned(directory_.fd()));
  EXPECT_EQ(directory_.names().size(), 4U) << "a closed file is held by its request";
  EXPECT_EQ(commit(one, false), 0);
  EXPECT_TRUE(remove_abandoned(directory_.fd()));
  EXPECT_EQ(commit(zero, false), 0);
  EXPECT_EQ(directory_.names(), (Names{"a", "h2_tmp", "o", "z"}));
}

// A link may be another server's backup of a link that it replaces.
TEST_F(UploadFileTest, LinksAreNotJudged) {
  directory_.write("a", "somebody's");
  ASSERT_EQ(::symlinkat("a", directory_.fd(), "h2_tmp_1_2_0"), 0);
  EXPECT_TRUE(remove_abandoned(directory_.fd()));
  EXPECT_EQ(directory_.names(), (Names{"a", "h2_tmp_1_2_0"}));
}

// A process killed by SIGKILL during an upload.
TEST_F(UploadFileTest, AKilledProcessHoldsNothing) {
  std::array<int, 2> ready{};
  ASSERT_EQ(::pipe2(ready.data(), O_CLOEXEC), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    TemporaryNames names(directory_.fd());
    auto file = UploadFile::open(names, "a");
    const bool good = file && file->write("half");
    if (::write(ready[1], good ? "g" : "b", 1) == 1) ::pause();
    ::_exit(1);
  }
  char state = 0;
  ASSERT_EQ(::read(ready[0], &state, 1), 1);
  EXPECT_EQ(state, 'g');
  EXPECT_TRUE(remove_abandoned(directory_.fd()));
  EXPECT_EQ(directory_.names().size(), 1U) << "it lives";
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
  EXPECT_TRUE(remove_abandoned(directory_.fd()));
  EXPECT_EQ(directory_.names(), Names{});
  ::close(ready[0]);
  ::close(ready[1]);
}

TEST_F(UploadFileTest, OneDescriptorIsEnough) {
  const auto keeps_its_name = [this] {
    const auto is_temporary = [](const auto& name) { return name.starts_with("h2_tmp_"); };
    return remove_abandoned(directory_.fd()) &&
           std::ranges::count_if(directory_.names(), is_temporary) == 1;
  };
  for (const rlim_t more_at_the_end : {0U, 1U}) {
    const rlim_t used = tests::descriptors_in_use();
    TemporaryNames names(directory_.fd(), 0644, TemporaryNames::Lock::in_first_file);
    std::optional<UploadFile> file;
    {
      const tests::LoweredLimit limit(RLIMIT_NOFILE, used + 1);
      Result<UploadFile, int> opened = UploadFile::open(names, "a");
      ASSERT_TRUE(opened);
      file.emplace(*std::move(opened));
      EXPECT_TRUE(file->write("1"));
    }
    EXPECT_TRUE(keeps_its_name());
    {
      const tests::LoweredLimit limit(RLIMIT_NOFILE, used + 1 + more_at_the_end);
      EXPECT_TRUE(file->close());
    }
    EXPECT_TRUE(keeps_its_name()) << "the lock is held";
    EXPECT_EQ(commit(*file, true), 0);
    EXPECT_EQ(directory_.read("a"), "1");
  }
}

TEST_F(UploadFileTest, OpenErrors) {
  TemporaryNames without(-1);
  const Result<UploadFile, int> nowhere = UploadFile::open(without, "a");
  ASSERT_FALSE(nowhere);
  EXPECT_EQ(nowhere.error(), EBADF);
  for (const rlim_t more : {0U, 1U}) {
    {
      const tests::LoweredLimit limit(RLIMIT_NOFILE, tests::descriptors_in_use() + more);
      const Result<UploadFile, int> file = UploadFile::open(names_, "a");
      ASSERT_FALSE(file);
      EXPECT_EQ(file.error(), EMFILE);
    }
    EXPECT_EQ(directory_.names(), Names{});
  }
}

}  // namespace upload_file_test
}  // namespace h2server::content
