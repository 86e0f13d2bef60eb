#include "base/spsc_queue.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <thread>

namespace h2server::base {
namespace spsc_queue_test {

TEST(SpscQueue, IsEmptyThenFullThenEmpty) {
  SpscQueue<int> queue(4);
  EXPECT_EQ(queue.try_pop(), std::nullopt);
  for (int i = 0; i < 4; ++i) EXPECT_TRUE(queue.try_push(i));
  int fifth = 5;
  EXPECT_FALSE(queue.try_push(fifth));
  for (int i = 0; i < 4; ++i) EXPECT_EQ(queue.try_pop(), i);
  EXPECT_EQ(queue.try_pop(), std::nullopt);
}

TEST(SpscQueue, HoldsOneItem) {
  SpscQueue<int> queue(1);
  for (int i = 0; i < 10; ++i) {
    int item = i;
    EXPECT_TRUE(queue.try_push(item));
    EXPECT_FALSE(queue.try_push(item));
    EXPECT_EQ(queue.try_pop(), i);
    EXPECT_EQ(queue.try_pop(), std::nullopt);
  }
}

TEST(SpscQueue, GoesRoundManyTimes) {
  SpscQueue<int> queue(8);
  int pushed = 0;
  int popped = 0;
  for (int step = 0; step < 1000; ++step) {
    for (int i = 0; i < step % 9; ++i) {
      int item = pushed;
      if (queue.try_push(item)) ++pushed;
    }
    for (int i = 0; i < step % 5; ++i) {
      const std::optional<int> item = queue.try_pop();
      ASSERT_EQ(item.has_value(), popped < pushed);
      if (!item) continue;
      EXPECT_EQ(*item, popped);
      ++popped;
    }
    ASSERT_LE(pushed - popped, 8);
  }
}

TEST(SpscQueue, MovesItemsAndLeavesThemWhenFull) {
  SpscQueue<std::unique_ptr<std::string>> queue(1);
  auto first = std::make_unique<std::string>("first");
  auto second = std::make_unique<std::string>("second");
  EXPECT_TRUE(queue.try_push(first));
  EXPECT_EQ(first, nullptr);
  EXPECT_FALSE(queue.try_push(second));
  ASSERT_NE(second, nullptr);
  EXPECT_EQ(*second, "second");
  EXPECT_EQ(**queue.try_pop(), "first");
}

TEST(SpscQueue, FreesWhatIsLeft) {
  const auto watched = std::make_shared<int>(1);
  {
    SpscQueue<std::shared_ptr<int>> queue(4);
    for (int i = 0; i < 3; ++i) {
      auto copy = watched;
      EXPECT_TRUE(queue.try_push(copy));
    }
    EXPECT_EQ(watched.use_count(), 4);
  }
  EXPECT_EQ(watched.use_count(), 1);
}

TEST(SpscQueue, KeepsTheOrderBetweenTwoThreads) {
  constexpr std::size_t count = 200'000;
  SpscQueue<std::unique_ptr<std::size_t>> queue(16);
  std::thread producer([&] {
    for (std::size_t i = 0; i < count; ++i) {
      auto item = std::make_unique<std::size_t>(i);
      while (!queue.try_push(item)) std::this_thread::yield();
    }
  });
  std::size_t wrong = 0;
  for (std::size_t i = 0; i < count;) {
    const auto item = queue.try_pop();
    if (!item) {
      std::this_thread::yield();
      continue;
    }
    wrong += **item != i;
    ++i;
  }
  producer.join();
  EXPECT_EQ(wrong, 0U);
  EXPECT_EQ(queue.try_pop(), std::nullopt);
}

}  // namespace spsc_queue_test
}  // namespace h2server::base
