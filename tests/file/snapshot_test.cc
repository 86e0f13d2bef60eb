// Tests snapshots: sealed copies of files, and when the cache takes and drops them.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cerrno>
#include <string>
#include <utility>

#include "content/support.h"
#include "file/cache.h"
#include "file/support.h"

namespace h2server::file {
namespace snapshot_test {

using tests::FolderCache;
using tests::LoweredLimit;
using tests::run_now;
using tests::TemporaryDirectory;

constexpr std::uint64_t no_bound = UINT64_MAX;
constexpr std::size_t mib = 1024 * 1024;

std::string_view bytes_of(const Content& content) {
  return {content.bytes(), static_cast<std::size_t>(content.size())};
}

struct SnapshotTest : testing::Test {
  // Opens `name` and returns it with its version.
  std::pair<base::Fd, FileVersion> open(const std::string& name) const {
    base::Fd file(::openat(directory.fd(), name.c_str(), O_RDONLY | O_CLOEXEC));
    const FileVersion version = version_of(file.get()).value();
    return {std::move(file), version};
  }
  std::unique_ptr<const Content> snapshot(const std::string& name,
                                          std::uint64_t bytes_max = no_bound) const {
    const auto [file, version] = open(name);
    return Content::snapshot(version, file.get(), bytes_max);
  }

  TemporaryDirectory directory;
};

TEST_F(SnapshotTest, HoldsTheBytesWhateverBecomesOfTheFile) {
  for (const std::size_t size : {std::size_t{1}, std::size_t{4096}, 3 * mib + 1}) {
    const std::string text(size, 'x');
    directory.write("a", text);
    const std::unique_ptr<const Content> taken = snapshot("a");
    ASSERT_NE(taken, nullptr) << size;
    EXPECT_TRUE(taken->is_snapshot());
    EXPECT_TRUE(taken->has_descriptor());
    EXPECT_FALSE(taken->mapped()) << "its bytes are not the file's";
    directory.write("a", "y");  // truncates it
    EXPECT_TRUE(bytes_of(*taken) == text) << size;
    EXPECT_TRUE(taken->unchanged());
    std::string copy(size, '\0');
    EXPECT_TRUE(taken->copy(copy, 0, true));
    EXPECT_TRUE(copy == text) << size;
  }
}

TEST_F(SnapshotTest, IsSealed) {
  directory.write("a", std::string(10'000, 'x'));
  const std::unique_ptr<const Content> taken = snapshot("a");
  ASSERT_NE(taken, nullptr);
  const int descriptor = taken->descriptor();
  EXPECT_EQ(::pwrite(descriptor, "y", 1, 0), -1);
  EXPECT_EQ(errno, EPERM);
  EXPECT_EQ(::ftruncate(descriptor, 5), -1);
  EXPECT_EQ(errno, EPERM);
  EXPECT_EQ(::ftruncate(descriptor, 20'000), -1);
  EXPECT_EQ(errno, EPERM);
  EXPECT_EQ(::fcntl(descriptor, F_ADD_SEALS, F_SEAL_WRITE), -1) << "nor can seals be changed";
  EXPECT_EQ(bytes_of(*taken), std::string(10'000, 'x'));
}

TEST_F(SnapshotTest, IsCountedAsLongAsItLives) {
  directory.write("a", std::string(10'000, 'x'));
  const std::uint64_t before = Content::snapshot_bytes();
  std::unique_ptr<const Content> first = snapshot("a", before + 19'999);
  ASSERT_NE(first, nullptr);
  EXPECT_EQ(Content::snapshot_bytes(), before + 10'000);
  EXPECT_EQ(snapshot("a", before + 19'999), nullptr) << "it exceeds the budget";
  EXPECT_EQ(Content::snapshot_bytes(), before + 10'000);
  first.reset();
  EXPECT_EQ(Content::snapshot_bytes(), before);
  EXPECT_NE(snapshot("a", before + 10'000), nullptr) << "the limit itself is allowed";
  EXPECT_EQ(Content::snapshot_bytes(), before);
}

TEST_F(SnapshotTest, IsNotTakenOfAFileThatChangedOrShrank) {
  const std::uint64_t before = Content::snapshot_bytes();
  directory.write_settled("a", std::string(10'000, 'x'));
  const auto [file, version] = open("a");
  directory.write_settled("a", std::string(10'000, 'y'), 5);
  EXPECT_EQ(Content::snapshot(version, file.get(), no_bound), nullptr) << "rewritten";
  ASSERT_EQ(::truncate(directory.path_of("a").c_str(), 9999), 0);
  EXPECT_EQ(Content::snapshot(version, file.get(), no_bound), nullptr) << "shorter";
  EXPECT_EQ(Content::snapshot_bytes(), before);
}

// Writing more than RLIMIT_FSIZE would end the process by a signal.
TEST_F(SnapshotTest, IsNotTakenBeyondTheLimitOfFiles) {
  directory.write("a", std::string(10'000, 'x'));
  const LoweredLimit limit(RLIMIT_FSIZE, 9'999);
  EXPECT_EQ(snapshot("a"), nullptr);
}

TEST_F(SnapshotTest, IsNotTakenWithoutADescriptor) {
  const std::uint64_t before = Content::snapshot_bytes();
  directory.write("a", "x");
  const auto [file, version] = open("a");
  const LoweredLimit limit(RLIMIT_NOFILE, tests::descriptors_in_use());
  EXPECT_EQ(Content::snapshot(version, file.get(), no_bound), nullptr);
  EXPECT_EQ(Content::snapshot_bytes(), before);
}

// --- the cache ----------------------------------------------------------------------------------

struct SnapshotCacheTest : SnapshotTest {
  // Returns the file at `now_ms`.
  static FileRef at(FolderCache& cache, std::int64_t now_ms, const std::string& path = "a") {
    return run_now(cache.find(nullptr, path, now_ms)).file;
  }
  static CacheLimits limits(std::size_t held_bytes_max, std::uint64_t snapshots_bytes_max) {
    return {.held_bytes_max = held_bytes_max,
            .snapshots_bytes_max = snapshots_bytes_max,
            .snapshot_age_s_min = 0};
  }
  // Asks for the file until the cache has a snapshot of it, or could have. Returns the last one.
  static FileRef at_again(FolderCache& cache, std::int64_t now_ms, const std::string& path = "a") {
    at(cache, now_ms, path);
    at(cache, now_ms, path);
    return at(cache, now_ms + 1000, path);
  }
};

TEST_F(SnapshotCacheTest, AFileThatIsAskedForAgainIsCopiedAtTheNextCheck) {
  FolderCache cache(directory.fd(), limits(4, no_bound));
  directory.write_settled("a", "mapped");
  const FileRef first = at(cache, 0);
  EXPECT_TRUE(first->content().mapped());
  EXPECT_EQ(at(cache, 999), first);
  const FileRef copied = at(cache, 1000);
  EXPECT_TRUE(copied->content().is_snapshot());
  EXPECT_EQ(bytes_of(copied->content()), "mapped");
  EXPECT_EQ(&copied->head(), &first->head()) << "it is the same version";
  EXPECT_EQ(copied->content().version(), first->content().version());
  EXPECT_EQ(at(cache, 1999), copied);
  EXPECT_EQ(at(cache, 2000), copied) << "checked, and kept";
  EXPECT_EQ(at(cache, 1'000'000), copied);
}

TEST_F(SnapshotCacheTest, AFileThatIsAskedForOnceStaysMapped) {
  FolderCache cache(directory.fd(), limits(4, no_bound));
  directory.write_settled("a", "mapped");
  const FileRef first = at(cache, 0);
  for (std::int64_t now_ms = 1000; now_ms < 10'000; now_ms += 1000) {
    EXPECT_EQ(at(cache, now_ms), first) << now_ms;
  }
}

TEST_F(SnapshotCacheTest, HeldAndLargerFilesAreNotCopied) {
  FolderCache cache(directory.fd(),
                    {.held_bytes_max = 4, .snapshot_bytes_max = 6, .snapshot_age_s_min = 0});
  directory.write_settled("held", "held");
  directory.write_settled("most", "123456");
  directory.write_settled("large", "1234567");
  EXPECT_FALSE(at_again(cache, 0, "held")->content().is_snapshot());
  EXPECT_TRUE(at_again(cache, 0, "most")->content().is_snapshot());
  EXPECT_FALSE(at_again(cache, 0, "large")->content().is_snapshot());
}

TEST_F(SnapshotCacheTest, ChangesInPlaceAreSeenAtTheNextCheck) {
  FolderCache cache(directory.fd(), limits(4, no_bound));
  directory.write_settled("a", "version 1");
  const FileRef copied = at_again(cache, 0);
  ASSERT_TRUE(copied->content().is_snapshot());
  directory.write_settled("a", "version 2", 5);
  EXPECT_EQ(bytes_of(at(cache, 1999)->content()), "version 1");
  const FileRef changed = at(cache, 2000);
  EXPECT_EQ(bytes_of(changed->content()), "version 2");
  EXPECT_TRUE(changed->content().mapped()) << "a new version starts anew";
  EXPECT_EQ(bytes_of(copied->content()), "version 1") << "those who send it have the whole";
}

// Nobody has asked for them for ten seconds, beside the one that a lookup is good for.
TEST_F(SnapshotCacheTest, IdleSnapshotsMakeRoomAndUsedOnesStay) {
  const std::uint64_t before = Content::snapshot_bytes();
  FolderCache cache(directory.fd(), limits(4, before + 20));
  for (const char* const name : {"a", "b", "c"}) directory.write_settled(name, "ten bytes!");
  ASSERT_TRUE(at_again(cache, 0, "a")->content().is_snapshot());
  ASSERT_TRUE(at_again(cache, 0, "b")->content().is_snapshot());
  EXPECT_EQ(Content::snapshot_bytes(), before + 20);
  EXPECT_TRUE(at_again(cache, 9000, "c")->content().mapped()) << "both are in use";
  EXPECT_TRUE(at_again(cache, 10'999, "c")->content().mapped()) << "until now";
  EXPECT_TRUE(at(cache, 11'500, "a")->content().is_snapshot());
  ASSERT_TRUE(at_again(cache, 12'000, "c")->content().is_snapshot());
  EXPECT_EQ(Content::snapshot_bytes(), before + 20);
  EXPECT_TRUE(at(cache, 13'000, "a")->content().is_snapshot()) << "it is used";
  EXPECT_TRUE(at(cache, 13'000, "b")->content().mapped()) << "it made room";
}

// If what is idle does not suffice, it stays.
TEST_F(SnapshotCacheTest, NothingIsDroppedInVain) {
  const std::uint64_t before = Content::snapshot_bytes();
  FolderCache cache(directory.fd(), limits(4, before + 20));
  for (const char* const name : {"a", "b"}) directory.write_settled(name, "ten bytes!");
  directory.write_settled("c", "just twenty bytes...");
  ASSERT_TRUE(at_again(cache, 0, "a")->content().is_snapshot());
  ASSERT_TRUE(at_again(cache, 11'000, "b")->content().is_snapshot());
  EXPECT_TRUE(at_again(cache, 12'000, "c")->content().mapped());
  EXPECT_EQ(Content::snapshot_bytes(), before + 20);
}

TEST_F(SnapshotCacheTest, RecentlyChangedFilesStayMapped) {
  FolderCache cache(directory.fd(), {.held_bytes_max = 4, .snapshot_age_s_min = 3600});
  directory.write_settled("a", "mapped");
  EXPECT_TRUE(at_again(cache, 0)->content().mapped());
}

TEST_F(SnapshotCacheTest, CopiesPerSecondAreBounded) {
  FolderCache cache(directory.fd(), {.held_bytes_max = 4,
                                     .snapshot_bytes_max = 33 * mib,
                                     .snapshots_bytes_max = no_bound,
                                     .snapshot_age_s_min = 0});
  for (const char* const name : {"a", "b"}) {
    directory.write(name, "");
    ASSERT_EQ(::truncate(directory.path_of(name).c_str(), 33 * mib), 0);
    directory.write_settled(name + std::string("2"), "x");  // lets time pass
    at(cache, 0, name);
    at(cache, 0, name);
  }
  EXPECT_TRUE(at(cache, 1000, "a")->content().is_snapshot());
  EXPECT_TRUE(at(cache, 1000, "b")->content().mapped()) << "more than 64 MiB in a second";
  at(cache, 1999, "b");
  EXPECT_TRUE(at(cache, 2000, "b")->content().is_snapshot());
}

TEST_F(SnapshotCacheTest, WhatIsNotCopiedDoesNotCount) {
  const std::uint64_t before = Content::snapshot_bytes();
  FolderCache cache(directory.fd(), {.held_bytes_max = 4,
                                     .snapshot_bytes_max = 64 * mib,
                                     .snapshots_bytes_max = before + 10,
                                     .snapshot_age_s_min = 0});
  directory.write("large", "");
  ASSERT_EQ(::truncate(directory.path_of("large").c_str(), 64 * mib), 0);
  directory.write_settled("a", "ten bytes!");
  for (const char* const name : {"large", "large", "a", "a"}) at(cache, 0, name);
  EXPECT_TRUE(at(cache, 1000, "large")->content().mapped()) << "no room";
  EXPECT_TRUE(at(cache, 1000, "a")->content().is_snapshot());
}

TEST_F(SnapshotCacheTest, AProcessMayTakeFewerOrNone) {
  FolderCache cache(directory.fd(), limits(4, no_bound));
  directory.write_settled("a", "mapped");
  cache.cache().limit_snapshots(0);
  cache.cache().limit_snapshots(no_bound);  // it only lowers the limit
  EXPECT_TRUE(at_again(cache, 0)->content().mapped());
}

// Bytes that are only being sent count, too, so slow clients can't add up versions.
TEST_F(SnapshotCacheTest, WithoutRoomFilesStayMapped) {
  const std::uint64_t before = Content::snapshot_bytes();
  FolderCache cache(directory.fd(), limits(4, before + 10));
  directory.write_settled("a", "ten bytes!");
  FileRef sent = at_again(cache, 0);
  ASSERT_TRUE(sent->content().is_snapshot());
  directory.write_settled("a", "other ones", 5);
  EXPECT_TRUE(at_again(cache, 2000)->content().mapped());
  sent.reset();
  EXPECT_TRUE(at_again(cache, 3000)->content().is_snapshot());
}

TEST_F(SnapshotCacheTest, SnapshotsGoWithTheirCache) {
  const std::uint64_t before = Content::snapshot_bytes();
  {
    FolderCache cache(directory.fd(), limits(4, no_bound));
    directory.write_settled("a", "mapped");
    ASSERT_TRUE(at_again(cache, 0)->content().is_snapshot());
    EXPECT_GT(Content::snapshot_bytes(), before);
  }
  EXPECT_EQ(Content::snapshot_bytes(), before);
}

}  // namespace snapshot_test
}  // namespace h2server::file
