#include "load/shares.h"

#include <gtest/gtest.h>

#include <numeric>
#include <vector>

namespace h2server::lab::load {
namespace shares_test {

std::vector<std::uint64_t> shares_of(std::uint64_t requests, std::size_t connections,
                                     const std::vector<unsigned>& weights) {
  const Shares shares(requests, connections, weights);
  std::vector<std::uint64_t> all;
  for (std::size_t i = 0; i < connections; ++i) all.push_back(shares.left(i));
  return all;
}

TEST(Shares, AreOneHeapWithoutWeights) {
  Shares shares(3, 2, {});
  EXPECT_TRUE(shares.pooled());
  EXPECT_TRUE(shares.take(0));
  EXPECT_TRUE(shares.take(0));
  EXPECT_EQ(shares.left(1), 1U);
  EXPECT_TRUE(shares.take(1));
  EXPECT_FALSE(shares.take(0));
  EXPECT_FALSE(shares.take(1));
}

TEST(Shares, FollowTheWeights) {
  using List = std::vector<std::uint64_t>;
  EXPECT_EQ(shares_of(1100, 4, {8, 1, 1, 1}), (List{800, 100, 100, 100}));
  EXPECT_EQ(shares_of(2200, 8, {8, 1, 1, 1}), (List{800, 100, 100, 100, 800, 100, 100, 100}));
  EXPECT_EQ(shares_of(10, 3, {1}), (List{3, 3, 4}));
  EXPECT_EQ(shares_of(10, 1, {5, 7}), (List{10}));
  EXPECT_EQ(shares_of(10, 3, {1, 0, 1}), (List{5, 0, 5}));
  EXPECT_EQ(shares_of(1, 4, {1}), (List{0, 0, 0, 1}));
}

TEST(Shares, AddUp) {
  for (const std::uint64_t requests : {1UL, 7UL, 1000UL, 999'983UL, 1UL << 40U}) {
    const auto all = shares_of(requests, 101, {8, 3, 1});
    EXPECT_EQ(std::accumulate(all.begin(), all.end(), std::uint64_t{0}), requests);
  }
}

TEST(Shares, AreGivenUpForOneConnection) {
  Shares shares(100, 2, std::vector<unsigned>{1, 1});
  EXPECT_TRUE(shares.take(0));
  EXPECT_EQ(shares.drop(0), 49U);
  EXPECT_FALSE(shares.take(0));
  EXPECT_EQ(shares.left(1), 50U);
}

}  // namespace shares_test
}  // namespace h2server::lab::load
