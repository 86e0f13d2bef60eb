#include "server/system_limits.h"

#include <gtest/gtest.h>
#include <sched.h>
#include <sys/resource.h>

#include <filesystem>

#include "content/support.h"
#include "h2server/options.h"

namespace h2server::server {
namespace system_limits_test {

TEST(SystemLimits, DescriptorsAreRaisedToTheHardLimit) {
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
  const tests::LoweredLimit lowered(RLIMIT_NOFILE, before.rlim_max / 2);
  raise_descriptor_limit();
  rlimit after{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &after), 0);
  EXPECT_EQ(after.rlim_cur, before.rlim_max);
}

TEST(SystemLimits, TheLeastQuotaOfTheGroupsCounts) {
  const tests::TemporaryDirectory mounted;
  for (const char* const group : {"a/b", "a/c", "free", "small", "cpu/v1"}) {
    std::filesystem::create_directories(mounted.path_of(group));
  }
  mounted.write("a/cpu.max", "250000 100000\n");
  mounted.write("a/b/cpu.max", "max 100000\n");
  mounted.write("a/c/cpu.max", "800000 100000\n");
  mounted.write("free/cpu.max", "max 100000\n");
  mounted.write("small/cpu.max", "1000 100000\n");
  mounted.write("cpu/v1/cpu.cfs_quota_us", "400000\n");
  mounted.write("cpu/v1/cpu.cfs_period_us", "100000\n");
  mounted.write("cpu/cpu.cfs_quota_us", "-1\n");
  mounted.write("cpu/cpu.cfs_period_us", "100000\n");
  struct Row {
    const char* memberships;
    std::optional<unsigned> processors;
  };
  const Row rows[] = {
      {"", std::nullopt},
      {"0::/\n", std::nullopt},
      {"0::/a\n", 3},
      {"0::/a/b\n", 3},  // of the group around it
      {"0::/a/gone\n", 3},
      {"0::/a/c\n", 3},  // the lesser one
      {"4:cpu:/v1\n0::/a\n", 3},
      {"0::/free\n", std::nullopt},
      {"0::/small\n", 1},
      {"4:cpu,cpuacct:/v1\n", 4},
      {"9:memory:/v1\n4:cpuacct,cpu:/v1\n0::/\n", 4},
      {"7:cpuset:/a\n", std::nullopt},
      {"nonsense\n", std::nullopt},
  };
  for (const Row& row : rows) {
    EXPECT_EQ(processors_of_quota(mounted.path(), row.memberships), row.processors)
        << row.memberships;
  }
}

TEST(SystemLimits, TheLeastMemoryOfTheGroupsCounts) {
  const tests::TemporaryDirectory mounted;
  for (const char* const group : {"a/b", "a/c", "free", "memory/v1"}) {
    std::filesystem::create_directories(mounted.path_of(group));
  }
  mounted.write("a/memory.max", "134217728\n");
  mounted.write("a/b/memory.max", "max\n");
  mounted.write("a/c/memory.max", "1000000\n");
  mounted.write("free/memory.max", "max\n");
  mounted.write("memory/v1/memory.limit_in_bytes", "2000000\n");
  mounted.write("memory/memory.limit_in_bytes", "9223372036854771712\n");  // none
  struct Row {
    const char* memberships;
    std::optional<std::uint64_t> bytes;
  };
  const Row rows[] = {
      {"", std::nullopt},
      {"0::/\n", std::nullopt},
      {"0::/a\n", 134'217'728},
      {"0::/a/b\n", 134'217'728},
      {"0::/a/c\n", 1'000'000},
      {"0::/free\n", std::nullopt},
      {"5:memory:/v1\n0::/free\n", 2'000'000},
      {"5:cpu:/v1\n", std::nullopt},
  };
  for (const Row& row : rows) {
    EXPECT_EQ(memory_of_limit(mounted.path(), row.memberships), row.bytes) << row.memberships;
  }
  EXPECT_GT(memory_allowed(), 1'000'000U);
}

TEST(SystemLimits, ProcessorsAreThoseOfTheAffinityMask) {
  cpu_set_t before;
  ASSERT_EQ(::sched_getaffinity(0, sizeof before, &before), 0);
  EXPECT_GE(processors_allowed(), 1U);
  EXPECT_LE(processors_allowed(), static_cast<unsigned>(CPU_COUNT(&before)));
  cpu_set_t one;
  CPU_ZERO(&one);
  for (int i = 0; i < CPU_SETSIZE && CPU_COUNT(&one) == 0; ++i) {
    if (CPU_ISSET(i, &before)) CPU_SET(i, &one);
  }
  ASSERT_EQ(::sched_setaffinity(0, sizeof one, &one), 0);
  EXPECT_EQ(processors_allowed(), 1U);
  ASSERT_EQ(::sched_setaffinity(0, sizeof before, &before), 0);
}

}  // namespace system_limits_test
}  // namespace h2server::server
