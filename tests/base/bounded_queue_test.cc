#include "base/bounded_queue.h"

#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <thread>
#include <vector>

namespace h2server::base {
namespace bounded_queue_test {

using Item = std::unique_ptr<int>;

Item item(int number) { return std::make_unique<int>(number); }

TEST(BoundedQueue, GivesInOrderAndGoesRound) {
  BoundedQueue<Item> queue(3);
  int pushed = 0;
  int popped = 0;
  for (int round = 0; round < 10; ++round) {
    for (int i = 0; i < 2; ++i) {
      Item next = item(pushed++);
      ASSERT_TRUE(queue.try_push(next));
      EXPECT_EQ(next, nullptr);
    }
    EXPECT_EQ(queue.size(), 2U);
    for (int i = 0; i < 2; ++i) EXPECT_EQ(**queue.pop(), popped++);
  }
  EXPECT_EQ(queue.size(), 0U);
}

TEST(BoundedQueue, RefusesWhenFull) {
  BoundedQueue<Item> queue(2);
  Item first = item(1);
  Item second = item(2);
  Item third = item(3);
  EXPECT_TRUE(queue.try_push(first));
  EXPECT_TRUE(queue.try_push(second));
  EXPECT_FALSE(queue.try_push(third));
  EXPECT_NE(third, nullptr) << "untouched";
  EXPECT_EQ(**queue.pop(), 1);
  EXPECT_TRUE(queue.try_push(third));
}

TEST(BoundedQueue, WaitsForRoomAndForItems) {
  BoundedQueue<Item> queue(1);
  std::thread giver([&queue] {
    for (int i = 0; i < 1000; ++i) {
      Item next = item(i);
      EXPECT_TRUE(queue.push(next));
    }
  });
  for (int i = 0; i < 1000; ++i) EXPECT_EQ(**queue.pop(), i);
  giver.join();
}

TEST(BoundedQueue, ManyGiveAndManyTake) {
  BoundedQueue<Item> queue(4);
  constexpr int each = 500;
  std::atomic<int> sum{0};
  std::vector<std::thread> threads;
  for (int number = 0; number < 3; ++number) {
    threads.emplace_back([&queue] {
      for (int i = 1; i <= each; ++i) {
        Item next = item(i);
        EXPECT_TRUE(queue.push(next));
      }
    });
    threads.emplace_back([&queue, &sum] {
      for (int i = 0; i < each; ++i) sum += **queue.pop();
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(sum, 3 * each * (each + 1) / 2);
}

TEST(BoundedQueue, ClosedItEndsEveryWaitAndDropsWhatNobodyTook) {
  BoundedQueue<std::shared_ptr<int>> empty(1);
  BoundedQueue<std::shared_ptr<int>> full(2);
  const auto watched = std::make_shared<int>(7);
  for (int i = 0; i < 2; ++i) {
    std::shared_ptr<int> copy = watched;
    ASSERT_TRUE(full.push(copy));
  }
  std::thread taker([&empty] { EXPECT_EQ(empty.pop(), std::nullopt); });
  std::thread giver([&full] {
    auto next = std::make_shared<int>(8);
    EXPECT_FALSE(full.push(next));
    EXPECT_NE(next, nullptr) << "untouched";
  });
  empty.close();
  full.close();
  taker.join();
  giver.join();
  EXPECT_EQ(watched.use_count(), 1);
  EXPECT_EQ(full.size(), 0U);
  EXPECT_EQ(full.pop(), std::nullopt);
  std::shared_ptr<int> late = watched;
  EXPECT_FALSE(full.try_push(late));
  EXPECT_TRUE(full.closed());
}

}  // namespace bounded_queue_test
}  // namespace h2server::base
