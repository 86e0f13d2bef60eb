#include "server/accept/balancer.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <vector>

namespace h2server::server {
namespace balancer_test {

// Workers without load of which some are full. Records which ones were offered a connection.
struct Workers {
  std::set<unsigned> full;
  std::map<unsigned, std::uint64_t> loads = {};
  std::vector<unsigned> asked = {};

  std::optional<unsigned> place(Balancer& balancer, int descriptor) {
    asked.clear();
    return balancer.place(
        descriptor, [this](unsigned worker) { return loads[worker]; },
        [this](unsigned worker) {
          asked.push_back(worker);
          return !full.contains(worker);
        });
  }
};

using Asked = std::vector<unsigned>;

TEST(Balancer, TheTableIsFilledInTurn) {
  for (const unsigned workers : {1U, 2U, 3U, 7U, 256U, 300U}) {
    const Balancer balancer(workers);
    for (std::size_t i = 0; i < Balancer::entries; ++i) {
      ASSERT_EQ(balancer.entry(i), i % workers) << workers;
    }
    EXPECT_THROW(static_cast<void>(balancer.entry(Balancer::entries)), std::out_of_range);
  }
}

TEST(Balancer, HitsGoToTheEntrysWorker) {
  Balancer balancer(3);
  Workers workers;
  const std::vector<std::pair<int, unsigned>> rows = {
      {0, 0},   {1, 1},   {2, 2},   {3, 0},   {255, 0},
      {256, 0}, {257, 1}, {511, 0}, {513, 1}, {1'000'000, 1},
  };
  for (const auto& [descriptor, worker] : rows) {
    EXPECT_EQ(workers.place(balancer, descriptor), worker) << descriptor;
    EXPECT_EQ(workers.asked, Asked{worker}) << descriptor;
  }
  EXPECT_EQ(balancer.hits(), rows.size());
  EXPECT_EQ(balancer.rewrites(), 0U);
  EXPECT_EQ(balancer.full(), 0U);
}

TEST(Balancer, AFullWorkersEntryIsRewritten) {
  Balancer balancer(3);
  Workers workers{.full = {1}};
  EXPECT_EQ(workers.place(balancer, 1), 0U);
  EXPECT_EQ(workers.asked, (Asked{1, 0}));
  EXPECT_EQ(balancer.entry(1), 0U);
  EXPECT_EQ(balancer.entry(4), 1U) << "only the one entry";
  // The rotation is at 1, which is full, then at 2.
  EXPECT_EQ(workers.place(balancer, 4), 2U);
  EXPECT_EQ(workers.asked, (Asked{1, 2})) << "the full one is not asked again";
  EXPECT_EQ(balancer.entry(4), 2U);
  EXPECT_EQ(workers.place(balancer, 7), 0U);
  EXPECT_EQ(balancer.rewrites(), 3U);
  EXPECT_EQ(balancer.hits(), 0U);
  // A rewritten entry stays, even when the full worker has room again.
  workers.full.clear();
  EXPECT_EQ(workers.place(balancer, 1), 0U);
  EXPECT_EQ(workers.asked, Asked{0});
  EXPECT_EQ(workers.place(balancer, 257), 0U);
  EXPECT_EQ(workers.place(balancer, 4), 2U);
  EXPECT_EQ(workers.place(balancer, 10), 1U);
  EXPECT_EQ(balancer.hits(), 4U);
  EXPECT_EQ(balancer.rewrites(), 3U);
}

TEST(Balancer, RewritesGoRoundAmongThoseWithRoom) {
  Balancer balancer(4);
  Workers workers{.full = {0, 2}};
  std::vector<unsigned> placed;
  for (const int descriptor : {0, 4, 8, 12, 16, 20}) {
    placed.push_back(*workers.place(balancer, descriptor));
  }
  EXPECT_EQ(placed, (std::vector<unsigned>{1, 3, 1, 3, 1, 3}));
}

TEST(Balancer, AllFull) {
  Balancer balancer(3);
  Workers workers{.full = {0, 1, 2}};
  for (int round = 1; round <= 3; ++round) {
    EXPECT_EQ(workers.place(balancer, 5), std::nullopt);
    EXPECT_EQ(std::set(workers.asked.begin(), workers.asked.end()), workers.full);
    EXPECT_EQ(workers.asked.size(), 3U) << "each once";
    EXPECT_EQ(balancer.full(), static_cast<std::uint64_t>(round));
  }
  EXPECT_EQ(balancer.entry(5), 2U) << "unchanged";
  workers.full.clear();
  EXPECT_EQ(workers.place(balancer, 5), 2U);
  EXPECT_EQ(balancer.hits(), 1U);
  EXPECT_EQ(balancer.rewrites(), 0U);
}

TEST(Balancer, OneWorker) {
  Balancer balancer(1);
  Workers workers;
  EXPECT_EQ(workers.place(balancer, 77), 0U);
  workers.full = {0};
  EXPECT_EQ(workers.place(balancer, 77), std::nullopt);
  EXPECT_EQ(workers.asked, Asked{0});
  workers.full.clear();
  EXPECT_EQ(workers.place(balancer, 77), 0U);
  EXPECT_EQ(balancer.hits(), 2U);
  EXPECT_EQ(balancer.full(), 1U);
}

TEST(Balancer, AnEntryLeavesAWorkerWithClearlyMoreLoad) {
  struct Row {
    std::uint64_t own;
    std::uint64_t least;
    bool moves;
  };
  for (const Row& row : {Row{0, 0, false}, Row{16, 0, false}, Row{17, 0, true},
                         Row{141, 100, false}, Row{142, 100, true}, Row{100, 142, false}}) {
    Balancer balancer(2);
    Workers workers{.full = {}, .loads = {{0, row.own}, {1, row.least}}};
    EXPECT_EQ(workers.place(balancer, 4), row.moves ? 1U : 0U) << row.own << ", " << row.least;
    EXPECT_EQ(balancer.entry(4), row.moves ? 1U : 0U);
    EXPECT_EQ(balancer.entry(6), 0U) << "only the one entry";
    EXPECT_EQ(balancer.rewrites(), row.moves ? 1U : 0U);
    EXPECT_EQ(balancer.hits(), row.moves ? 0U : 1U);
  }
}

TEST(Balancer, AnOverloadedWorkerKeepsItsEntryIfTheOtherIsFull) {
  Balancer balancer(2);
  Workers workers{.full = {1}, .loads = {{0, 1000}, {1, 0}}};
  EXPECT_EQ(workers.place(balancer, 4), 0U);
  EXPECT_EQ(workers.asked, (Asked{1, 0}));
  EXPECT_EQ(balancer.entry(4), 0U);
}

// Those connections of the table's first worker last, all others end at once: the skew that the
// table alone never evens out.
TEST(Balancer, SkewedLoadsAreEvenedOut) {
  constexpr unsigned count = 4;
  Balancer balancer(count);
  std::vector<std::uint64_t> loads(count);
  const auto add = [&](int descriptor) {
    return *balancer.place(
        descriptor, [&](unsigned worker) { return loads[worker]; },
        [&](unsigned worker) {
          ++loads[worker];
          return true;
        });
  };
  for (int i = 0; i < 4000; ++i) {
    const unsigned worker = add(i);
    if (i % count != 0) --loads[worker];
  }
  const auto [least, most] = std::minmax_element(loads.begin(), loads.end());
  EXPECT_EQ(loads[0] + loads[1] + loads[2] + loads[3], 1000U);
  EXPECT_LE(*most, *least + *least / 4 + Balancer::slack + count);
  EXPECT_LT(balancer.rewrites(), 1000U);
}

}  // namespace balancer_test
}  // namespace h2server::server
