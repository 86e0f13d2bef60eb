#include "load/schedule.h"

#include <gtest/gtest.h>

#include <cstdint>

namespace h2server::lab::load {
namespace schedule_test {

constexpr std::int64_t ms = 1'000'000;

TEST(ArrivalSchedule, CountsArrivals) {
  const ArrivalSchedule schedule({.rate = 200, .seconds = 2.5, .warmup_seconds = 0.5});
  EXPECT_EQ(schedule.warmup(), 100U);
  EXPECT_EQ(schedule.measured(), 500U);
  EXPECT_EQ(schedule.total(), 600U);
}

TEST(ArrivalSchedule, KnowsWhoIsDue) {
  const ArrivalSchedule schedule({.rate = 200, .seconds = 0.1});  // one every 5 ms
  struct Row {
    std::int64_t now_ns;
    std::uint64_t due;
  };
  for (const auto& [now_ns, due] :
       {Row{-1, 0}, Row{0, 1}, Row{1, 1}, Row{5 * ms - 1, 1}, Row{5 * ms, 2}, Row{5 * ms + 1, 2},
        Row{12 * ms, 3}, Row{95 * ms - 1, 19}, Row{95 * ms, 20}, Row{9000 * ms, 20}}) {
    EXPECT_EQ(schedule.due_count(now_ns), due) << now_ns;
  }
  EXPECT_EQ(schedule.due_ns(0), 0);
  EXPECT_EQ(schedule.due_ns(19), 95 * ms);
}

// A third of a second is not a whole number of nanoseconds: the error must not accumulate.
TEST(ArrivalSchedule, DoesNotDrift) {
  const ArrivalSchedule schedule({.rate = 3, .seconds = 86'400});
  EXPECT_EQ(schedule.due_ns(3 * 86'400), 86'400'000 * ms);
}

TEST(ArrivalSchedule, CountsWhatItTellsDue) {
  for (const double rate : {0.5, 3.0, 7.7, 999.0, 123'456.7}) {
    const ArrivalSchedule schedule({.rate = rate, .seconds = 1000 / rate});
    for (std::uint64_t i = 0; i < schedule.total(); ++i) {
      ASSERT_EQ(schedule.due_count(schedule.due_ns(i)), i + 1) << rate;
      ASSERT_EQ(schedule.due_count(schedule.due_ns(i) - 1), i) << rate;
    }
  }
}

}  // namespace schedule_test
}  // namespace h2server::lab::load
