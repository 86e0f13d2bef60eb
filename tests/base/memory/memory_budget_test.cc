#include "base/memory/memory_budget.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <utility>

#include "base/memory/arena.h"
#include "base/memory/buffer_chain.h"
#include "base/memory/pool.h"

namespace h2server::base {
namespace memory_budget_test {

constexpr std::uint64_t mib = 1024 * 1024;

struct Watcher final : MemoryWatcher {
  Watcher() { MemoryBudget::add(*this); }
  ~Watcher() override { MemoryBudget::remove(*this); }
  void memory_needs_care() noexcept override { ++calls; }
  int calls = 0;
};

std::uint64_t held(MemoryOwner owner) { return MemoryBudget::of_process().held(owner); }

TEST(MemoryBudget, CountsByOwnerAndInAll) {
  MemoryBudget budget;
  budget.charge(MemoryOwner::bodies, 3);
  budget.charge(MemoryOwner::coding, 4);
  budget.discharge(MemoryOwner::bodies, 1);
  EXPECT_EQ(budget.held(MemoryOwner::bodies), 2U);
  EXPECT_EQ(budget.held(MemoryOwner::coding), 4U);
  EXPECT_EQ(budget.held(MemoryOwner::requests), 0U);
  EXPECT_EQ(budget.held(), 6U);
  EXPECT_FALSE(budget.tight() || budget.critical() || budget.full()) << "there is no limit";
}

TEST(MemoryBudget, MarksAreAtAHalfAndAtThreeQuarters) {
  struct Row {
    std::uint64_t bytes;
    bool tight, critical, full;
  };
  for (const Row& row : {Row{8 * mib - 1, false, false, false}, Row{8 * mib, true, false, false},
                         Row{12 * mib - 1, true, false, false}, Row{12 * mib, true, true, false},
                         Row{16 * mib - 1, true, true, false}, Row{16 * mib, true, true, true}}) {
    MemoryBudget budget;
    budget.set_limit(16 * mib);
    budget.charge(MemoryOwner::buffers, row.bytes);
    EXPECT_EQ(budget.tight(), row.tight) << row.bytes;
    EXPECT_EQ(budget.critical(), row.critical) << row.bytes;
    EXPECT_EQ(budget.full(), row.full) << row.bytes;
    EXPECT_EQ(budget.is_short(), row.tight) << row.bytes;
  }
}

TEST(MemoryBudget, CallsWatchersOnceForEachPassingOfAMark) {
  MemoryBudget budget;
  budget.set_limit(16 * mib);
  Watcher watcher;
  const auto calls_after = [&](std::uint64_t bytes) {
    budget.charge(MemoryOwner::buffers, bytes);
    return std::exchange(watcher.calls, 0);
  };
  EXPECT_EQ(calls_after(7 * mib), 0);
  EXPECT_EQ(calls_after(mib), 1) << "tight";
  EXPECT_EQ(calls_after(mib), 0);
  EXPECT_EQ(calls_after(3 * mib), 1) << "critical";
  EXPECT_EQ(calls_after(90 * mib), 0);
  budget.discharge(MemoryOwner::buffers, 100 * mib);
  EXPECT_EQ(calls_after(50 * mib), 1) << "both at once";
}

TEST(MemoryBudget, AShortageEndsOnceAtAnEighth) {
  MemoryBudget budget;
  budget.set_limit(16 * mib);
  EXPECT_FALSE(budget.end_shortage()) << "there was none";
  budget.charge(MemoryOwner::buffers, 8 * mib);
  EXPECT_FALSE(budget.end_shortage());
  budget.discharge(MemoryOwner::buffers, 6 * mib - 1);
  EXPECT_FALSE(budget.end_shortage());
  budget.discharge(MemoryOwner::buffers, 1);
  EXPECT_TRUE(budget.end_shortage());
  EXPECT_FALSE(budget.end_shortage());
  EXPECT_FALSE(budget.is_short());
}

TEST(MemoryBudget, ChildrenWakeNobodyOfTheirParent) {
  Watcher watcher;
  const auto pass_a_mark = [&watcher] {
    MemoryBudget budget;
    budget.set_limit(16 * mib);
    budget.charge(MemoryOwner::buffers, 9 * mib);
    ::_exit(budget.is_short() ? watcher.calls : -1);
  };
  EXPECT_EXIT(pass_a_mark(), testing::ExitedWithCode(0), "");
}

TEST(MemoryBudget, CachesHaveAPartOfIt) {
  MemoryBudget budget;
  EXPECT_EQ(budget.at_most(64 * mib, 2), 64 * mib) << "without a limit";
  budget.set_limit(16 * mib);
  EXPECT_EQ(budget.at_most(64 * mib, 2), 8 * mib);
  EXPECT_EQ(budget.at_most(mib, 2), mib);
}

TEST(MemoryCharge, IsMovedAndEndsWithItsObject) {
  const std::uint64_t before = held(MemoryOwner::archives);
  {
    MemoryCharge a(MemoryOwner::archives);
    a.set(100);
    MemoryCharge b(std::move(a));
    EXPECT_EQ(held(MemoryOwner::archives), before + 100);
    b.set(40);
    EXPECT_EQ(held(MemoryOwner::archives), before + 40);
    MemoryCharge c(MemoryOwner::archives);
    c = std::move(b);
    EXPECT_EQ(c.bytes(), 40U);
    EXPECT_EQ(held(MemoryOwner::archives), before + 40);
  }
  EXPECT_EQ(held(MemoryOwner::archives), before);
}

TEST(MemoryOfRequests, IsThatOfArenasAndPools) {
  struct Object {
    void clear() noexcept {}
    char bytes[1000];
  };
  const std::uint64_t before = held(MemoryOwner::requests);
  {
    Arena arena;
    static_cast<void>(arena.take(5000));
    EXPECT_EQ(held(MemoryOwner::requests), before + 5000);
    Arena other;
    static_cast<void>(other.take(100));
    arena = std::move(other);
    EXPECT_EQ(held(MemoryOwner::requests), before + arena.bytes_held() + other.bytes_held());
    other.clear();
    EXPECT_EQ(held(MemoryOwner::requests), before + arena.bytes_held());
    Pool<Object> pool;
    const std::uint64_t without = held(MemoryOwner::requests);
    {
      const auto first = pool.take();
      const auto second = pool.take();
      EXPECT_EQ(held(MemoryOwner::requests), without + 2 * sizeof(Object));
    }
    EXPECT_EQ(held(MemoryOwner::requests), without + 2 * sizeof(Object)) << "kept for reuse";
  }
  EXPECT_EQ(held(MemoryOwner::requests), before);
}

TEST(MemoryOfBuffers, IsThatOfBlocksAndSpareOnes) {
  BufferChain::free_spare_blocks();
  const std::uint64_t before = held(MemoryOwner::buffers);
  constexpr std::size_t block = 64 * 1024;
  constexpr std::size_t reserve = 33 * block;  // the first that are more than 2 MiB
  {
    BufferChain small;
    small.append(std::string(100'000, 'x'));
    EXPECT_EQ(small.bytes_held(), 2 * block);
    small.append_shared("shared", nullptr);
    EXPECT_EQ(small.bytes_held(), 2 * block);
    small.consume(70'000);
    EXPECT_EQ(small.bytes_held(), block);
    EXPECT_EQ(held(MemoryOwner::buffers), before) << "a thread's reserve";
    small.clear();
    BufferChain large;
    large.append(std::string(40 * BufferChain::block_bytes, 'x'));
    EXPECT_EQ(large.bytes_held(), 40 * block);
    EXPECT_EQ(held(MemoryOwner::buffers), before + 40 * block - reserve);
  }
  BufferChain::free_spare_blocks();
  EXPECT_EQ(held(MemoryOwner::buffers), before);
}

}  // namespace memory_budget_test
}  // namespace h2server::base
