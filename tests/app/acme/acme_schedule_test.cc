#include "app/acme/acme_schedule.h"

#include <gtest/gtest.h>

#include <optional>

namespace h2server::app {
namespace acme_schedule_test {

using namespace std::chrono_literals;
using std::chrono::days;
using std::chrono::seconds;

TEST(AcmeSchedule, TwoThirdsOfTheValidity) {
  const std::int64_t day = 86400;
  EXPECT_EQ(usual_renewal_s(1000, 1000 + 90 * day, 0), 1000 + 60 * day);
  EXPECT_EQ(usual_renewal_s(1000, 1000 + 90 * day, 0.5), 1000 + 60 * day - 90 * day / 100);
  EXPECT_EQ(usual_renewal_s(1000, 900, 0.5), 1000) << "the end lies before the beginning";
}

TEST(AcmeSchedule, WithinTheWindow) {
  const RenewalWindow window{.start_s = 100, .end_s = 300};
  EXPECT_EQ(renewal_in(window, 0), 100);
  EXPECT_EQ(renewal_in(window, 0.25), 150);
  EXPECT_LT(renewal_in(window, 0.999), 300);
  EXPECT_EQ(renewal_in({.start_s = 7, .end_s = 7}, 0.9), 7);
}

TEST(AcmeSchedule, HintsHaveBounds) {
  struct Row {
    std::int64_t renewal_s;
    IssuedCertificate issued;
    std::int64_t obtained_s;
    std::int64_t expected_s;
  };
  const Row rows[] = {
      {600, {.begin_s = 0, .end_s = 1000}, 0, 600},
      {950, {.begin_s = 0, .end_s = 1000}, 0, 900},  // before the end
      {0, {.begin_s = 0, .end_s = 1000}, 0, 0},      // at once
      {0, {.begin_s = 0, .end_s = 1000}, 50, 150},   // not one after the other
      {0, {.begin_s = 0, .end_s = 1'000'000}, 50, 3650},
      {0, {.begin_s = 50, .end_s = 55}, 50, 51},      // valid for a moment
      {0, {.begin_s = 9'000, .end_s = 100}, 50, 51},  // ends before it begins
      {8'000, {.begin_s = 9'000, .end_s = 100}, 0, 100},
  };
  for (const Row& row : rows) {
    EXPECT_EQ(bounded_renewal_s(row.renewal_s, row.issued, row.obtained_s), row.expected_s)
        << row.renewal_s << ' ' << row.issued.begin_s << ' ' << row.issued.end_s;
  }
}

TEST(AcmeSchedule, PauseOfAdvice) {
  EXPECT_EQ(advice_pause({}), 6h);
  EXPECT_EQ(advice_pause(2h), 2h);
  EXPECT_EQ(advice_pause(0s), 1min);
  EXPECT_EQ(advice_pause(days(30)), days(1));
}

TEST(AcmeSchedule, PausesAfterFailures) {
  struct Row {
    unsigned failures;
    double random;
    std::optional<seconds> retry_after;
    seconds pause;
  };
  const Row rows[] = {
      {1, 0, {}, 1min},     {2, 0, {}, 2min},          {5, 0, {}, 16min},
      {11, 0, {}, 1024min}, {12, 0, {}, days(1)},      {1'000'000, 0, {}, days(1)},
      {1, 0.5, {}, 67s},    {12, 0.5, {}, 27h},        {1, 0, 30s, 1min},
      {1, 0, 2h, 2h},       {12, 0, days(3), days(3)}, {1, 0, days(300), days(7)},
  };
  for (const Row& row : rows) {
    EXPECT_EQ(retry_pause(row.failures, row.random, row.retry_after), row.pause)
        << row.failures << ' ' << row.random;
  }
}

}  // namespace acme_schedule_test
}  // namespace h2server::app
