#include "content/storage/last_sweep.h"

#include <gtest/gtest.h>

namespace h2server::content {
namespace last_sweep_test {

constexpr std::int64_t hour_ms = 3'600'000;

TEST(LastSweep, OneRequestSweepsIfNobodyDidFor2Pauses) {
  LastSweep last;
  EXPECT_TRUE(last.take_turn(hour_ms)) << "nobody did yet";
  EXPECT_FALSE(last.take_turn(hour_ms)) << "it sweeps";
  EXPECT_TRUE(last.take_turn(0));
}

TEST(LastSweep, NoRequestSweepsAfterTheServerDid) {
  LastSweep last;
  last.note();
  EXPECT_FALSE(last.take_turn(hour_ms));
}

}  // namespace last_sweep_test
}  // namespace h2server::content
