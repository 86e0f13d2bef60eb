#include "content/storage/upload_space.h"

#include <sys/statvfs.h>
#include <sys/wait.h>

#include <filesystem>

#include "content/support.h"

namespace h2server::content {
namespace upload_space_test {

using Verdict = UploadSpace::Verdict;

constexpr std::uint64_t form = UploadSpaceLimits::form_bytes;

std::uint64_t free_bytes(int directory) {
  struct statvfs found{};
  EXPECT_EQ(::fstatvfs(directory, &found), 0);
  return std::uint64_t{found.f_bavail} * found.f_frsize;
}

class UploadSpaceTest : public testing::Test {
 protected:
  static UploadOptions total(std::uint64_t bytes) {
    return {.directory_bytes_max = bytes, .reserve_bytes = 0};
  }

  tests::TemporaryDirectory directory_;
  UploadSpace space_{directory_.fd()};
};

TEST_F(UploadSpaceTest, NoLimits) {
  const UploadOptions options{.reserve_bytes = 0};
  UploadClaim claim(space_, options);
  EXPECT_EQ(claim.expect(UINT64_MAX / 2), Verdict::granted);
  EXPECT_EQ(claim.cover(1000), Verdict::granted);
}

TEST_F(UploadSpaceTest, FilesOfEarlierRunsCount) {
  directory_.write("a", std::string(600, 'x'));
  directory_.write("h2_tmp_1_2_0", std::string(600, 'x'));  // in progress, counted separately
  directory_.write("sub/b", std::string(600, 'x'));         // not an upload
  const UploadOptions options = total(1000);
  UploadClaim claim(space_, options);
  EXPECT_EQ(claim.cover(400), Verdict::granted);
  claim.wrote(400);
  EXPECT_EQ(claim.cover(1), Verdict::directory_full);
  EXPECT_EQ(space_.stored(), 600U);
}

TEST_F(UploadSpaceTest, FilesInFoldersCountIfUploadsMayHaveThem) {
  directory_.write("a", std::string(100, 'x'));
  directory_.write("sub/b", std::string(200, 'x'));
  directory_.write("sub/deep/er/c", std::string(300, 'x'));
  directory_.write("sub/h2_tmp_1_2_0", std::string(1000, 'x'));
  ASSERT_EQ(::symlinkat("..", directory_.fd(), "sub/up"), 0);
  UploadOptions options = total(1000);
  options.folders = true;
  UploadClaim claim(space_, options);
  EXPECT_EQ(claim.cover(401), Verdict::directory_full);
  EXPECT_EQ(claim.cover(400), Verdict::granted);
  EXPECT_EQ(space_.stored(), 600U);
}

// Otherwise a directory that seems full is counted again after a while only.
TEST_F(UploadSpaceTest, AForgottenCountIsMadeAgainAtOnce) {
  directory_.write("a", std::string(600, 'x'));
  const UploadOptions options = total(1000);
  UploadClaim claim(space_, options);
  EXPECT_EQ(claim.cover(500), Verdict::directory_full);
  std::filesystem::remove(directory_.path_of("a"));
  space_.forget_count();
  EXPECT_EQ(claim.cover(500), Verdict::granted);
}

// What is allocated is missing from the free space already, and must not count twice.
TEST_F(UploadSpaceTest, AllocatedBytesAreOnTheDisk) {
  const std::uint64_t free = free_bytes(directory_.fd());
  const std::uint64_t half = free / 2;
  constexpr std::uint64_t ahead = UploadSpaceLimits::ahead_bytes_max;
  const UploadOptions options{.reserve_bytes = half};
  UploadClaim claim(space_, options);
  EXPECT_EQ(claim.expect(2 * ahead, 0), Verdict::granted);
  EXPECT_EQ(claim.ahead(), ahead);
  UploadClaim other(space_, options);
  EXPECT_EQ(other.expect(free - half - ahead / 2, 0), Verdict::disk_full) << "it is claimed";
  claim.allocated(ahead);
  EXPECT_EQ(other.expect(free - half - ahead / 2, 0), Verdict::granted) << "it is on the disk";
  claim.wrote(ahead / 2);
  claim.allocated(ahead / 2);  // the same bytes as before
  claim.wrote(ahead / 2);
  EXPECT_EQ(claim.ahead(), 0U);
  claim.keep(0);
  EXPECT_EQ(space_.stored(), ahead);
  EXPECT_EQ(claim.cover(10), Verdict::granted);
  claim.allocated(1000);  // more than is claimed
}

TEST_F(UploadSpaceTest, UploadsUnderWayCountTogether) {
  const UploadOptions options = total(1'000'000);
  UploadClaim one(space_, options);
  EXPECT_EQ(one.expect(800'000 + form), Verdict::granted);
  {
    UploadClaim other(space_, options);
    EXPECT_EQ(other.expect(200'001 + form), Verdict::directory_full);
    EXPECT_EQ(other.expect(200'000 + form), Verdict::granted);
    UploadClaim third(space_, options);
    EXPECT_EQ(third.expect(form), Verdict::granted) << "perhaps it has no content";
    EXPECT_EQ(third.cover(1), Verdict::directory_full);
  }
  UploadClaim later(space_, options);
  EXPECT_EQ(later.expect(200'000 + form), Verdict::granted) << "what broke off is given back";
}

// A client that announces much and sends nothing claims little of the space.
TEST_F(UploadSpaceTest, LittleIsClaimedBeforeItComes) {
  constexpr std::uint64_t ahead = UploadSpaceLimits::ahead_bytes_max;
  const UploadOptions options = total(4 * ahead);
  UploadClaim large(space_, options);
  EXPECT_EQ(large.expect(4 * ahead + form), Verdict::granted);
  EXPECT_EQ(space_.claimed(), ahead);
  UploadClaim other(space_, options);
  EXPECT_EQ(other.expect(2 * ahead + form), Verdict::granted);
  EXPECT_EQ(large.cover(ahead), Verdict::granted);
  large.wrote(ahead);
  EXPECT_EQ(large.cover(1), Verdict::granted);
  EXPECT_EQ(space_.claimed(), 3 * ahead + 1);
}

// A refused claim is not visible to others, however large.
TEST_F(UploadSpaceTest, AWrongClaimLeavesTheAccount) {
  const UploadOptions options = total(1000);
  UploadClaim claim(space_, options);
  EXPECT_EQ(claim.expect(UINT64_MAX), Verdict::directory_full);
  EXPECT_EQ(space_.claimed(), 0U);
}

TEST_F(UploadSpaceTest, WhatIsKeptCounts) {
  const UploadOptions options = total(1000);
  {
    UploadClaim claim(space_, options);
    EXPECT_EQ(claim.cover(500), Verdict::granted);
    claim.wrote(500);
    EXPECT_EQ(claim.cover(300), Verdict::granted);  // of which nothing is written
    claim.keep(0);
  }
  EXPECT_EQ(space_.stored(), 500U);
  EXPECT_EQ(space_.claimed(), 0U);
  {
    UploadClaim claim(space_, options);
    EXPECT_EQ(claim.cover(500), Verdict::granted);
    claim.wrote(500);
    claim.keep(300);  // bytes of replaced files
  }
  EXPECT_EQ(space_.stored(), 700U);
}

// Files that someone removes by hand are noticed when there seems to be no room.
TEST_F(UploadSpaceTest, CountsAnewWhenItSeemsFull) {
  directory_.write("a", std::string(1000, 'x'));
  const UploadOptions options = total(1000);
  UploadClaim claim(space_, options);
  EXPECT_EQ(claim.cover(1), Verdict::directory_full);
  std::filesystem::remove(directory_.path_of("a"));
  const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  Verdict verdict = Verdict::directory_full;
  while (verdict != Verdict::granted && std::chrono::steady_clock::now() < until) {
    verdict = claim.cover(1000);
  }
  EXPECT_EQ(verdict, Verdict::granted);
}

TEST_F(UploadSpaceTest, TheReserveStaysFree) {
  const std::uint64_t free = free_bytes(directory_.fd());
  ASSERT_GT(free, 1'000'000'000U);
  const UploadOptions all{.reserve_bytes = UINT64_MAX};
  const UploadOptions some{.reserve_bytes = free / 2};
  UploadClaim none(space_, all);
  EXPECT_EQ(none.cover(1), Verdict::disk_full);
  EXPECT_TRUE(space_.exhausted(all));
  UploadClaim large(space_, some);
  EXPECT_EQ(large.expect(free), Verdict::disk_full);
  EXPECT_EQ(large.expect(free / 3), Verdict::granted);
  EXPECT_FALSE(space_.exhausted(some));
  UploadClaim other(space_, some);
  EXPECT_EQ(other.expect(free / 2 - 1), Verdict::disk_full) << "not written yet, but claimed";
  EXPECT_EQ(space_.claimed(), UploadSpaceLimits::ahead_bytes_max);
}

TEST_F(UploadSpaceTest, ChildrenCountTogether) {
  const UploadOptions options = total(1000);
  const pid_t child = ::fork();
  if (child == 0) {
    UploadClaim claim(space_, options);
    const bool good = claim.cover(600) == Verdict::granted;
    claim.wrote(600);
    claim.keep(0);
    ::_exit(good ? 0 : 1);
  }
  int status = 1;
  ::waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
  UploadClaim claim(space_, options);
  EXPECT_EQ(claim.cover(401), Verdict::directory_full);
  EXPECT_EQ(claim.cover(400), Verdict::granted);
}

}  // namespace upload_space_test
}  // namespace h2server::content
