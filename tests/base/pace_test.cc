#include "base/pace.h"

#include <gtest/gtest.h>

namespace h2server::base {
namespace pace_test {

TEST(Pace, GivesUpAPeerThatStops) {
  Pace pace(1000, 100);
  EXPECT_EQ(pace.left_ms(), 1000U);
  EXPECT_TRUE(pace.moved(999, 0));
  EXPECT_EQ(pace.left_ms(), 1U);
  EXPECT_FALSE(pace.moved(1, 0));
  EXPECT_EQ(pace.left_ms(), 1U);  // not 0, which would mean "no limit"
}

TEST(Pace, WaitsForAPeerThatKeepsUp) {
  Pace pace(1000, 100);
  for (int i = 0; i < 100; ++i) EXPECT_TRUE(pace.moved(900, 90));
}

TEST(Pace, GivesUpAPeerThatIsALittleTooSlow) {
  Pace pace(1000, 100);
  int waits = 0;
  while (pace.moved(900, 80)) ++waits;
  EXPECT_EQ(waits, 1);
  Pace longer(10'000, 100);
  waits = 0;
  while (longer.moved(900, 80)) ++waits;
  EXPECT_EQ(waits, 91);  // each wait loses 100 ms; the last one needs 900 ms
}

TEST(Pace, BytesEarnNoMoreThanTheSlack) {
  Pace pace(1000, 100);
  EXPECT_TRUE(pace.moved(10, 1'000'000'000'000));
  EXPECT_EQ(pace.left_ms(), 1000U);
  EXPECT_FALSE(pace.moved(1000, 1'000'000));
}

}  // namespace pace_test
}  // namespace h2server::base
