#include "load/histogram.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <string>
#include <vector>

namespace h2server::lab::load {
namespace histogram_test {

TEST(LoadHistogram, IsEmptyAtFirst) {
  const Histogram empty;
  EXPECT_EQ(empty.count(), 0U);
  EXPECT_EQ(empty.max_us(), 0U);
  EXPECT_EQ(empty.mean_us(), 0);
  EXPECT_EQ(empty.value_at_percentile(99), 0U);
  EXPECT_TRUE(empty.buckets().empty());
}

TEST(LoadHistogram, KeepsSmallValuesAsTheyAre) {
  for (std::uint64_t value = 1; value < 2048; ++value) {
    Histogram one;
    one.record(value);
    ASSERT_EQ(one.buckets(), (std::vector<std::pair<std::uint64_t, std::uint64_t>>{{value, 1}}));
  }
}

// Values around every power of two, where the bucket width changes.
TEST(LoadHistogram, TellsNoValueByMoreThanATenthOfAPercent) {
  for (std::uint64_t power = 1; power <= Histogram::value_us_max; power *= 2) {
    for (const std::uint64_t value : {power - 1, power, power + 1, power + power / 3}) {
      if (value == 0 || value > Histogram::value_us_max) continue;
      Histogram one;
      one.record(value);
      const std::uint64_t told = one.buckets().front().first;
      ASSERT_GE(told, value);
      ASSERT_LE(static_cast<double>(told - value), static_cast<double>(value) * 0.001) << value;
    }
  }
}

TEST(LoadHistogram, ClampsToItsRange) {
  Histogram both;
  both.record(0);
  both.record(UINT64_MAX);
  EXPECT_EQ(both.count(), 2U);
  EXPECT_EQ(both.value_at_percentile(0), 1U);
  EXPECT_EQ(both.max_us(), Histogram::value_us_max);
}

// Compares with exact percentiles of the sorted values.
TEST(LoadHistogram, FindsPercentiles) {
  std::mt19937_64 random(7);
  std::lognormal_distribution<double> latency(6, 2);
  std::vector<std::uint64_t> values;
  Histogram histogram;
  for (int i = 0; i < 100'000; ++i) {
    values.push_back(static_cast<std::uint64_t>(latency(random)) + 1);
    histogram.record(values.back());
  }
  std::sort(values.begin(), values.end());
  for (const double percentile : {0.001, 1.0, 10.0, 50.0, 90.0, 99.0, 99.9, 99.99, 100.0}) {
    const auto rank = static_cast<std::size_t>(
        std::ceil(percentile / 100 * static_cast<double>(values.size()) - 1e-6));
    const auto exact = static_cast<double>(values[rank - 1]);
    const auto told = static_cast<double>(histogram.value_at_percentile(percentile));
    EXPECT_GE(told, exact) << percentile;
    EXPECT_LE(told, exact * 1.001) << percentile;
  }
}

TEST(LoadHistogram, HasExactMeanAndDeviation) {
  Histogram histogram;
  histogram.record(10'001, 3);
  histogram.record(20'003);
  EXPECT_DOUBLE_EQ(histogram.mean_us(), (3 * 10'001.0 + 20'003.0) / 4);
  EXPECT_NEAR(histogram.deviation_us(), 4331.0, 0.5);
  EXPECT_EQ(histogram.max_us(), 20'003U);
}

TEST(LoadHistogram, MergesAsIfOneHadRecordedAll) {
  Histogram first, second, all;
  for (std::uint64_t value = 1; value < 1'000'000; value += 997) {
    (value % 2 == 0 ? first : second).record(value);
    all.record(value);
  }
  first.merge(second);
  EXPECT_EQ(first.buckets(), all.buckets());
  EXPECT_EQ(first.count(), all.count());
  EXPECT_EQ(first.max_us(), all.max_us());
  EXPECT_DOUBLE_EQ(first.mean_us(), all.mean_us());
  EXPECT_EQ(first.hgrm(), all.hgrm());
}

// The output of HdrHistogram's own tools for these values (five ticks per half distance).
TEST(LoadHistogram, WritesHdrHistogramsText) {
  Histogram histogram;
  for (std::uint64_t value = 1; value <= 10; ++value) histogram.record(value * 100);
  EXPECT_EQ(histogram.hgrm(), "       Value     Percentile TotalCount 1/(1-Percentile)\n\n"
                              "       0.100 0.000000000000          1           1.00\n"
                              "       0.100 0.100000000000          1           1.11\n"
                              "       0.200 0.200000000000          2           1.25\n"
                              "       0.300 0.300000000000          3           1.43\n"
                              "       0.400 0.400000000000          4           1.67\n"
                              "       0.500 0.500000000000          5           2.00\n"
                              "       0.600 0.550000000000          6           2.22\n"
                              "       0.600 0.600000000000          6           2.50\n"
                              "       0.700 0.650000000000          7           2.86\n"
                              "       0.700 0.700000000000          7           3.33\n"
                              "       0.800 0.750000000000          8           4.00\n"
                              "       0.800 0.775000000000          8           4.44\n"
                              "       0.800 0.800000000000          8           5.00\n"
                              "       0.900 0.825000000000          9           5.71\n"
                              "       0.900 0.850000000000          9           6.67\n"
                              "       0.900 0.875000000000          9           8.00\n"
                              "       0.900 0.887500000000          9           8.89\n"
                              "       0.900 0.900000000000          9          10.00\n"
                              "       1.000 1.000000000000         10            inf\n"
                              "#[Mean    =        0.550, StdDeviation   =        0.287]\n"
                              "#[Max     =        1.000, Total count    =           10]\n"
                              "#[Buckets =           22, SubBuckets     =         2048]\n");
}

TEST(LoadHistogram, WritesTextOfNothing) {
  EXPECT_NE(Histogram().hgrm().find("Total count    =            0]"), std::string::npos);
}

}  // namespace histogram_test
}  // namespace h2server::lab::load
