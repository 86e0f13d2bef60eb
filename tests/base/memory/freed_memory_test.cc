// Freed memory that lies among what is in use goes back to the kernel.
#include "base/memory/freed_memory.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "base/memory/memory_budget.h"
#include "base/memory/resident_memory.h"
#include "base/sanitizers.h"

namespace freed_memory_test {

using h2server::base::FreedMemory;

constexpr std::size_t mib = 1024 * 1024;

std::int64_t resident_bytes() {
  return h2server::base::resident_memory().value_or(h2server::base::ResidentMemory()).all;
}

class Bell final : public h2server::base::MemoryWatcher {
 public:
  Bell() { h2server::base::MemoryBudget::add(*this); }
  ~Bell() override { h2server::base::MemoryBudget::remove(*this); }
  void memory_needs_care() noexcept override { ++calls; }
  int calls = 0;
};

// 64 MiB in small pieces. Each 64th is left when the rest is freed.
class Pieces {
 public:
  Pieces() {
    for (std::size_t i = 0; i < 64 * mib / size; ++i) {
      pieces_.push_back(std::make_unique<std::vector<char>>(size, 'x'));
    }
  }
  void free_most() {
    for (std::size_t i = 0; i < pieces_.size(); ++i) {
      if (i % 64 != 63) pieces_[i].reset();
    }
  }

 private:
  static constexpr std::size_t size = 16 * 1024;
  std::vector<std::unique_ptr<std::vector<char>>> pieces_;
};

TEST(FreedMemory, GoesBackOnceItIsMuch) {
  if (H2SERVER_SANITIZED) GTEST_SKIP() << "sanitizers have a heap of their own";
  FreedMemory freed(0, 0);
  freed.look();
  EXPECT_FALSE(freed.look()) << "nothing was freed";
  Pieces pieces;
  pieces.free_most();
  const std::int64_t before = resident_bytes();
  EXPECT_TRUE(freed.look());
  EXPECT_LT(resident_bytes() + std::int64_t{32 * mib}, before);
  EXPECT_FALSE(freed.look()) << "it has gone back";
}

// Its worker had much to do.
TEST(FreedMemory, IsAskedForAgainByWhoFreesAfterTheLook) {
  FreedMemory freed(0, 0);
  EXPECT_TRUE(freed.begin_round());
  freed.freed_for(freed.rounds());
  EXPECT_FALSE(freed.asked()) << "in time";
  freed.look();
  freed.freed_for(freed.rounds());
  EXPECT_TRUE(freed.asked());
}

TEST(FreedMemory, BeginsRoundsNowAndThen) {
  Bell bell;
  FreedMemory freed(1'000'000);
  EXPECT_FALSE(freed.asked());
  EXPECT_FALSE(freed.take_request());
  freed.ask();
  EXPECT_TRUE(freed.take_request());
  EXPECT_FALSE(freed.take_request()) << "once";
  EXPECT_TRUE(freed.begin_round());
  EXPECT_EQ(freed.rounds(), 1u);
  EXPECT_EQ(bell.calls, 1) << "the engines are woken";
  EXPECT_FALSE(freed.asked());
  EXPECT_FALSE(freed.begin_round());
  EXPECT_EQ(freed.rounds(), 1u);
  EXPECT_EQ(bell.calls, 1);
  EXPECT_TRUE(freed.asked()) << "too early: later, then";
}

// Clients could have it walk through a large heap again and again.
TEST(FreedMemory, RestsLongAfterALongLook) {
  FreedMemory tireless(0, 0);
  EXPECT_TRUE(tireless.begin_round());
  tireless.look();
  EXPECT_TRUE(tireless.begin_round());
  FreedMemory lazy(0, 1'000'000'000);  // 1 us is a quarter of an hour
  EXPECT_TRUE(lazy.begin_round());
  lazy.look();
  EXPECT_FALSE(lazy.begin_round());
}

}  // namespace freed_memory_test
