#include <gtest/gtest.h>

#include "app/doctor/doctor_checks.h"
#include "app/doctor/doctor_text.h"
#include "app/fake_system.h"

namespace h2server::app {
namespace doctor_limits_test {

TEST(DoctorText, WordsNumbers) {
  EXPECT_EQ(grouped(0), "0");
  EXPECT_EQ(grouped(999), "999");
  EXPECT_EQ(grouped(1000), "1,000");
  EXPECT_EQ(grouped(123456), "123,456");
  EXPECT_EQ(grouped(1048576), "1,048,576");
  EXPECT_EQ(bytes_text(0), "0 bytes");
  EXPECT_EQ(bytes_text(1023), "1023 bytes");
  EXPECT_EQ(bytes_text(1536), "1.5 KiB");
  EXPECT_EQ(bytes_text(std::uint64_t{20} << 30), "20 GiB");
  EXPECT_EQ(bytes_text(UINT64_MAX), "16 EiB");
  EXPECT_EQ(counted(1, "day"), "1 day");
  EXPECT_EQ(counted(0, "day"), "0 days");
}

TEST(DoctorText, ReadsNumbers) {
  const FakeSystem fake;
  EXPECT_EQ(read_number(fake.write("a", "42\n")), 42U);
  EXPECT_EQ(read_number(fake.write("a", "42 100000\n")), 42U);
  for (const char* const text : {"max\n", "", "-1\n", "4x\n", "99999999999999999999\n"}) {
    EXPECT_EQ(read_number(fake.write("a", text)), std::nullopt) << text;
  }
  EXPECT_EQ(read_number(fake.path("missing")), std::nullopt);
  EXPECT_EQ(read_number(fake.path("proc")), std::nullopt);  // a folder
  EXPECT_EQ(read_small(fake.write("a", "12345"), 3), "123");
}

TEST(DoctorLimits, CountsConnectionsOfDescriptors) {
  const Finding many = check_descriptors({.soft = 1024, .hard = 1'048'576, .workers = 1});
  EXPECT_EQ(many.level, Level::ok);
  expect_words(many.finding, {"998,912 open connections", "1,048,576", "raises it from 1,024"});
  const Finding few = check_descriptors({.soft = 1024, .hard = 1024, .workers = 1});
  EXPECT_EQ(few.level, Level::note);
  expect_words(few.finding, {"832 open connections"});
  EXPECT_EQ(few.finding.find("raises"), std::string::npos);
  expect_words(few.remedy, {"LimitNOFILE", "ulimit"});
  EXPECT_EQ(check_descriptors({.soft = 16, .hard = 16, .workers = 1}).level, Level::problem);
  EXPECT_EQ(check_descriptors({.soft = 1024, .hard = UINT64_MAX, .workers = 8}).level, Level::ok);
}

TEST(DoctorLimits, ComparesWorkersWithProcessors) {
  const Finding idle = check_processors({.online = 8, .allowed = 8, .workers = 1});
  EXPECT_EQ(idle.level, Level::ok);
  expect_words(idle.finding, {"8 may be used", "1 worker ", "--threads auto"});
  const Finding crowded = check_processors({.online = 8, .allowed = 2, .workers = 4});
  EXPECT_EQ(crowded.level, Level::note);
  expect_words(crowded.finding, {"2 of 8", "4 workers"});
  expect_words(crowded.remedy, {"--threads auto"});
  EXPECT_EQ(
      check_processors({.online = 1, .allowed = 1, .workers = 64, .event_loops = false}).level,
      Level::ok);
}

constexpr const char* meminfo =
    "MemTotal:        2097152 kB\nMemFree:           65536 kB\nMemAvailable:    1048576 kB\n";

TEST(DoctorLimits, ReadsTheFreeMemory) {
  const FakeSystem fake;
  EXPECT_EQ(check_memory(fake.tree()).level, Level::ok);  // unknown
  fake.write("proc/meminfo", meminfo);
  const Finding good = check_memory(fake.tree());
  EXPECT_EQ(good.level, Level::ok);
  expect_words(good.finding, {"1.0 GiB available"});
  fake.write("proc/meminfo", "MemTotal: 262144 kB\nMemAvailable: 65536 kB\n");
  EXPECT_EQ(check_memory(fake.tree()).level, Level::note);
  fake.write("proc/meminfo", "MemTotal: 262144 kB\nMemAvailable: 16384 kB\n");
  EXPECT_EQ(check_memory(fake.tree()).level, Level::problem);
}

TEST(DoctorLimits, ReadsTheMemoryOfTheControlGroups) {
  struct Row {
    const char* groups;
    const char* file;
    const char* limit;
    Level level;
  };
  const Row rows[] = {
      {"0::/a/b\n", "sys/fs/cgroup/a/b/memory.max", "67108864\n", Level::note},
      {"0::/a/b\n", "sys/fs/cgroup/a/memory.max", "16777216\n", Level::problem},
      {"0::/a/b\n", "sys/fs/cgroup/memory.max", "16777216\n", Level::problem},
      {"0::/a/b\n", "sys/fs/cgroup/c/memory.max", "16777216\n", Level::ok},  // another group
      {"0::/a/b\n", "sys/fs/cgroup/a/b/memory.max", "max\n", Level::ok},
      {"5:memory:/a\n0::/\n", "sys/fs/cgroup/memory/a/memory.limit_in_bytes", "16777216\n",
       Level::problem},
      {"5:cpu,memory:/a\n", "sys/fs/cgroup/memory/a/memory.limit_in_bytes", "16777216\n",
       Level::problem},
      {"5:memory:/a\n", "sys/fs/cgroup/memory/a/memory.limit_in_bytes", "9223372036854771712\n",
       Level::ok},
      {"no line of groups\n", "sys/fs/cgroup/memory.max", "16777216\n", Level::ok},
  };
  for (const Row& row : rows) {
    const FakeSystem fake;
    fake.write("proc/meminfo", meminfo);
    fake.write("proc/self/cgroup", row.groups);
    fake.write(row.file, row.limit);
    EXPECT_EQ(check_memory(fake.tree()).level, row.level) << row.file;
  }
}

TEST(DoctorLimits, CountsTasksOfTheControlGroup) {
  const FakeSystem fake;
  fake.write("proc/self/cgroup", "0::/service\n");
  EXPECT_FALSE(check_tasks(fake.tree(), 10).has_value());
  fake.write("sys/fs/cgroup/service/pids.max", "max\n");
  EXPECT_FALSE(check_tasks(fake.tree(), 10).has_value());
  fake.write("sys/fs/cgroup/service/pids.max", "32\n");
  fake.write("sys/fs/cgroup/service/pids.current", "22\n");
  EXPECT_EQ(check_tasks(fake.tree(), 10).value().level, Level::ok);
  const Finding tight = check_tasks(fake.tree(), 11).value();
  EXPECT_EQ(tight.level, Level::problem);
  expect_words(tight.finding, {"room for 10 more", "11"});
  fake.write("sys/fs/cgroup/service/pids.current", "40\n");  // lowered while it ran
  expect_words(check_tasks(fake.tree(), 1).value().finding, {"room for 0 more"});
}

}  // namespace doctor_limits_test
}  // namespace h2server::app
