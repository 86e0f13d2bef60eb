#include "server/passwords/guess_limits.h"

#include <gtest/gtest.h>

namespace h2server::server {
namespace guess_limits_test {

constexpr std::int64_t s = 1'000'000'000;
constexpr std::int64_t start = 1000 * s;

TEST(GuessLimits, AClientWaitsAfterItsFailures) {
  GuessLimits limits(3);
  const Guess guess{.client = 1, .user = 7};
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(limits.wait_ns(guess, start), 0);
    limits.count_failure(guess, start);
  }
  EXPECT_EQ(limits.wait_ns(guess, start), 30 * s);
  EXPECT_EQ(limits.wait_ns({.client = 1, .user = 8}, start), 30 * s);  // at any user
  EXPECT_EQ(limits.wait_ns({.client = 1, .user = 7, .client_is_known = true}, start), 30 * s);
  EXPECT_EQ(limits.wait_ns({.client = 2, .user = 7}, start), 0);
  EXPECT_EQ(limits.wait_ns(guess, start + 29 * s), s);
  EXPECT_EQ(limits.wait_ns(guess, start + 30 * s), 0);
  limits.count_failure(guess, start + 30 * s);
  EXPECT_EQ(limits.wait_ns(guess, start + 30 * s), 30 * s);
  EXPECT_EQ(limits.wait_ns(guess, start + 120 * s), 0);
}

// Guesses at the same time are all counted, so that they do not raise the rate.
TEST(GuessLimits, FailuresAtTheSameTimeAreADebt) {
  GuessLimits limits(1);
  const Guess guess{.client = 1, .user = 7};
  for (int i = 0; i < 4; ++i) limits.count_failure(guess, start);
  EXPECT_EQ(limits.wait_ns(guess, start), 4 * 30 * s);
}

TEST(GuessLimits, ManyClientsKeepOutOnlyUnknownOnes) {
  GuessLimits limits(2);
  for (std::uint64_t client = 0; client < 10; ++client) {
    EXPECT_EQ(limits.wait_ns({.client = 99, .user = 7}, start), 0) << client;
    limits.count_failure({.client = client, .user = 7}, start);
    limits.count_failure({.client = client, .user = 7}, start);
  }
  EXPECT_EQ(limits.wait_ns({.client = 99, .user = 7}, start), 3 * s);
  EXPECT_EQ(limits.wait_ns({.client = 99, .user = 7, .client_is_known = true}, start), 0);
  EXPECT_EQ(limits.wait_ns({.client = 99, .user = 8}, start), 0);
  // Failures of one that is known are its own.
  limits.count_failure({.client = 99, .user = 7, .client_is_known = true}, start);
  EXPECT_EQ(limits.wait_ns({.client = 98, .user = 7}, start), 3 * s);
  EXPECT_EQ(limits.wait_ns({.client = 98, .user = 7}, start + 3 * s), 0);
}

}  // namespace guess_limits_test
}  // namespace h2server::server
