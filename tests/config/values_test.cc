#include "config/values.h"

#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <string>

namespace h2server::config {
namespace values_test {

using std::chrono::milliseconds;

TEST(Sizes, AreReadAndWritten) {
  const std::pair<const char*, std::uint64_t> rows[] = {
      {"0", 0},
      {"500", 500},
      {"500k", 500'000},
      {"2G", 2'000'000'000},
      {"2 GB", 2'000'000'000},
      {"2gib", 2ULL << 30},
      {"1Ti", 1ULL << 40},
      {"7kB", 7000},
      {"18446744073709551615", UINT64_MAX},
  };
  for (const auto& [text, bytes] : rows) {
    EXPECT_EQ(read_size(text), bytes) << text;
    EXPECT_EQ(read_size(write_size(bytes)), bytes) << write_size(bytes);
  }
  EXPECT_EQ(write_size(1ULL << 30), "1GiB");
  EXPECT_EQ(write_size(2'000'000'000), "2G");
  EXPECT_EQ(write_size(1'001), "1001");
  for (const char* const text : {"", "-5", "1.5G", "G", "5 apples", "0x10", "5i", "5kk", "5 k k",
                                 "99999999999999999999", "99999999T"}) {
    EXPECT_FALSE(read_size(text)) << text;
  }
}

TEST(Durations, AreReadAndWritten) {
  const std::pair<const char*, int> rows[] = {
      {"500ms", 500}, {"10s", 10'000}, {"5m", 300'000}, {"1h", 3'600'000}, {"1d", 86'400'000},
      {"0", 0},       {"0s", 0},       {"90s", 90'000}, {"1500 ms", 1500}};
  for (const auto& [text, ms] : rows) {
    EXPECT_EQ(read_duration(text), milliseconds(ms)) << text;
    EXPECT_EQ(read_duration(write_duration(milliseconds(ms))), milliseconds(ms)) << text;
  }
  EXPECT_EQ(write_duration(milliseconds(60'000)), "1m");
  EXPECT_EQ(write_duration(milliseconds(90'000)), "90s");
  for (const char* const text : {"", "60", "s", "-1s", "1.5s", "1w", "1s 2", "99999999999999999d",
                                 "18446744073709551616ms"}) {
    EXPECT_FALSE(read_duration(text)) << text;
  }
}

TEST(Ratios, LieBetweenZeroAndOne) {
  EXPECT_EQ(read_ratio("0"), 0.0);
  EXPECT_EQ(read_ratio("0.01"), 0.01);
  EXPECT_EQ(read_ratio("1"), 1.0);
  for (const char* const text : {"", "1.01", "-0.5", "nan", "inf", "0,5", "0.5 ", "1e999"}) {
    EXPECT_FALSE(read_ratio(text)) << text;
  }
}

TEST(Rates, HaveAUnitAndMayHaveABurst) {
  EXPECT_EQ(read_rate("10/s")->per_s, 10);
  EXPECT_EQ(read_rate("10/s")->burst, 0U);
  EXPECT_EQ(read_rate("0.5/s 7")->per_s, 0.5);
  EXPECT_EQ(read_rate("0.5/s 7")->burst, 7U);
  EXPECT_EQ(read_rate("6/m")->per_s, 0.1);
  EXPECT_EQ(read_rate("3600/h")->per_s, 1);
  EXPECT_EQ(read_rate("off")->per_s, 0);
  for (const char* const text :
       {"", "10", "10/d", "0/s", "-1/s", "/s", "10/s 0", "10/s x", "10/s 5 5", "2000000/s"}) {
    EXPECT_FALSE(read_rate(text)) << text;
  }
  for (const char* const text : {"10/s", "1/h 3", "7/m", "0.3/s 9", "off", "1000000/s 1000000"}) {
    const Rate rate = *read_rate(text);
    const Rate again = *read_rate(write_rate(rate));
    EXPECT_EQ(again.per_s, rate.per_s) << text;
    EXPECT_EQ(again.burst, rate.burst) << text;
  }
}

TEST(Numbers, AreDigitsInTheirRange) {
  EXPECT_EQ(read_number("7", {1, 9}), 7U);
  EXPECT_EQ(read_number("007", {1, 9}), 7U);
  EXPECT_EQ(read_number("0", {1, 9}).error(), "too small; allowed: 1 to 9");
  EXPECT_EQ(read_number("10", {1, 9}).error(), "too large; allowed: 1 to 9");
  EXPECT_EQ(read_number("18446744073709551616", {}).error(),
            "too large; allowed: 0 to 18446744073709551615");
  for (const char* const text : {"", "-", "x", "1x", " 1", "+1", "0x1"}) {
    EXPECT_EQ(read_number(text, {1, 9}).error(), "not a number; allowed: 1 to 9") << text;
  }
}

TEST(Switches, AreTrueAndOnOrFalseAndOff) {
  EXPECT_EQ(read_switch("true"), true);
  EXPECT_EQ(read_switch("on"), true);
  EXPECT_EQ(read_switch("false"), false);
  EXPECT_EQ(read_switch("off"), false);
  for (const char* const text : {"", "yes", "1", "TRUE"}) EXPECT_FALSE(read_switch(text)) << text;
}

}  // namespace values_test
}  // namespace h2server::config
