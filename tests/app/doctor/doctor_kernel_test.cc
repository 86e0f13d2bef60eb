#include <gtest/gtest.h>

#include <cerrno>

#include "app/doctor/doctor_checks.h"
#include "app/fake_system.h"

namespace h2server::app {
namespace doctor_kernel_test {

constexpr const char* release_file = "proc/sys/kernel/osrelease";
constexpr const char* disabled_file = "proc/sys/kernel/io_uring_disabled";
constexpr const char* obstacle = "it is not allowed";

TEST(DoctorKernel, NeedsOpenat2) {
  const FakeSystem fake;
  fake.write(release_file, "6.1.0-13-amd64\n");
  const Finding good = check_kernel(fake.tree(), 0);
  EXPECT_EQ(good.level, Level::ok);
  expect_words(good.finding, {"Linux 6.1.0-13-amd64"});
  fake.write(release_file, "5.4.0\n");
  const Finding old = check_kernel(fake.tree(), ENOSYS);
  EXPECT_EQ(old.level, Level::problem);
  expect_words(old.remedy, {"Linux 5.6"});
  fake.write(release_file, "5.10.0\n");  // newer than 5.6, so a filter refuses it
  fake.write("proc/self/status", "Name:\th2server\nSeccomp:\t2\nSeccomp_filters:\t1\n");
  for (const int error : {EPERM, ENOSYS}) {
    const Finding filtered = check_kernel(fake.tree(), error);
    EXPECT_EQ(filtered.level, Level::problem);
    expect_words(filtered.remedy, {"seccomp"});
  }
  EXPECT_EQ(check_kernel(FakeSystem().tree(), EACCES).level, Level::problem);
}

TEST(DoctorKernel, FindsNothingWrongWithIoUring) {
  const FakeSystem fake;
  const Finding good = check_io_uring(fake.tree(), IoEngine::automatic, "");
  EXPECT_EQ(good.level, Level::ok);
  EXPECT_EQ(good.remedy, "");
}

TEST(DoctorKernel, JudgesIoUringByTheEngineThatIsWanted) {
  const FakeSystem fake;
  EXPECT_EQ(check_io_uring(fake.tree(), IoEngine::automatic, obstacle).level, Level::note);
  EXPECT_EQ(check_io_uring(fake.tree(), IoEngine::epoll, obstacle).level, Level::ok);
  const Finding required = check_io_uring(fake.tree(), IoEngine::io_uring, obstacle);
  EXPECT_EQ(required.level, Level::problem);
  expect_words(required.finding, {obstacle});
  expect_words(required.remedy, {"--io auto"});
}

TEST(DoctorKernel, FindsWhoForbidsIoUring) {
  struct Row {
    const char* disabled;
    const char* release;
    const char* seccomp;
    const char* remedy;
  };
  const Row rows[] = {
      {"2\n", "6.6.0", "2", "sysctl kernel.io_uring_disabled=0"},
      {"1\n", "6.6.0", "0", "kernel.io_uring_group"},
      {"0\n", "6.6.0", "2", "seccomp"},
      {"0\n", "5.15.0-91", "0", "upgrade to Linux 6.1"},
      {"0\n", "6.0.9", "2", "upgrade to Linux 6.1"},
      {"0\n", "6.1.0", "2", "seccomp"},
  };
  for (const Row& row : rows) {
    const FakeSystem fake;
    fake.write(disabled_file, row.disabled);
    fake.write(release_file, row.release);
    fake.write("proc/self/status", std::string("Name:\tx\nSeccomp:\t") + row.seccomp + "\n");
    expect_words(check_io_uring(fake.tree(), IoEngine::automatic, obstacle).remedy, {row.remedy});
  }
  const FakeSystem silent;
  EXPECT_EQ(check_io_uring(silent.tree(), IoEngine::automatic, obstacle).remedy, "");
}

TEST(DoctorKernel, FindsKernelTls) {
  const auto finding_with = [](const std::string& file, const std::string& text) {
    const FakeSystem fake;
    fake.write(release_file, "6.1.0\n");
    if (!file.empty()) fake.write(file, text);
    const Finding found = check_ktls(fake.tree());
    EXPECT_EQ(found.level, Level::ok);
    expect_words(found.finding, {"does not use it yet"});
    return found.finding;
  };
  expect_words(finding_with("", ""), {"is missing"});
  expect_words(finding_with("proc/net/tls_stat", "TlsCurrTxSw 0\n"), {"is loaded"});
  expect_words(finding_with("sys/module/tls/refcnt", "0\n"), {"is loaded"});
  expect_words(finding_with("modules/6.1.0/kernel/net/tls/tls.ko.zst", ""), {"can be loaded"});
  expect_words(
      finding_with("modules/6.1.0/modules.builtin", "kernel/a.ko\nkernel/net/tls/tls.ko\n"),
      {"can be loaded"});
  expect_words(finding_with("modules/5.10.0/kernel/net/tls/tls.ko", ""), {"is missing"});
}

TEST(DoctorKernel, JudgesTheClock) {
  constexpr std::int64_t in_2027_s = 1'800'000'000;
  const Finding right = check_clock({.known = true, .synchronised = true, .now_s = in_2027_s});
  EXPECT_EQ(right.level, Level::ok);
  expect_words(right.finding, {"2027-01-15"});
  const Finding drifting = check_clock({.known = true, .synchronised = false, .now_s = in_2027_s});
  EXPECT_EQ(drifting.level, Level::note);
  expect_words(drifting.remedy, {"timedatectl"});
  EXPECT_EQ(check_clock({.known = false, .synchronised = false, .now_s = in_2027_s}).level,
            Level::ok);
  for (const std::int64_t wrong_s : {std::int64_t{0}, std::int64_t{1'767'225'599},
                                     std::int64_t{4'102'444'800}, std::int64_t{-1}}) {
    const Finding wrong = check_clock({.known = true, .synchronised = true, .now_s = wrong_s});
    EXPECT_EQ(wrong.level, Level::problem) << wrong_s;
  }
  EXPECT_EQ(check_clock({.known = true, .synchronised = true, .now_s = 1'767'225'600}).level,
            Level::ok);
}

}  // namespace doctor_kernel_test
}  // namespace h2server::app
