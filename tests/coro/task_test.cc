#include "h2server/task.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>

#include "coro/event.h"
#include "h2server/task_group.h"

namespace h2server::coro {
namespace task_test {

Task<int> seven() { co_return 7; }
Task<int> seven_after(Event& event) {
  co_await event.wait();
  co_return 7;
}
Task<std::unique_ptr<std::string>> pointer() { co_return std::make_unique<std::string>("text"); }
Task<int> fails() {
  throw std::runtime_error("at once");
  co_return 0;
}
Task<void> fails_after(Event& event) {
  co_await event.wait();
  throw std::runtime_error("later");
}

TEST(Task, BeginsWhenItIsAwaited) {
  bool begun = false;
  const auto begin = [&]() -> Task<void> {
    begun = true;
    co_return;
  };
  {
    const Task<void> never_awaited = begin();
  }
  EXPECT_FALSE(begun);
  TaskGroup group;
  group.start(begin());
  EXPECT_TRUE(begun);
}

TEST(Task, YieldsValues) {
  TaskGroup group;
  int sum = 0;
  const auto body = [&]() -> Task<void> {
    sum = co_await seven() + co_await seven();
    const auto text = co_await pointer();
    EXPECT_EQ(*text, "text");
  };
  group.start(body());
  EXPECT_EQ(sum, 14);
}

TEST(Task, StartsInFrontOfItsAwait) {
  Task<int> at_once = seven();
  ASSERT_TRUE(at_once.start());
  EXPECT_EQ(at_once.take(), 7);

  Task<int> throws = fails();
  ASSERT_TRUE(throws.start());
  EXPECT_THROW(throws.take(), std::runtime_error);

  for (const bool ends_before_the_await : {true, false}) {
    TaskGroup group;
    Event event;
    int value = 0;
    Task<int> later = seven_after(event);
    ASSERT_FALSE(later.start());
    if (ends_before_the_await) event.set();
    const auto body = [&value](Task<int> task) -> Task<void> { value = co_await task; };
    group.start(body(std::move(later)));
    if (!ends_before_the_await) event.set();
    EXPECT_EQ(value, 7) << ends_before_the_await;
  }
}

TEST(Task, HandsOnWhatWasThrown) {
  TaskGroup group;
  Event event;
  std::string log;
  const auto body = [&]() -> Task<void> {
    try {
      co_await fails();
    } catch (const std::runtime_error& error) {
      log += error.what();
    }
    try {
      co_await fails_after(event);
    } catch (const std::runtime_error& error) {
      log += std::string(", ") + error.what();
    }
  };
  group.start(body());
  EXPECT_EQ(log, "at once");
  event.set();
  EXPECT_EQ(log, "at once, later");
}

TEST(Task, FreesFramesThatNeverRanOrNeverEnded) {
  const auto watched = std::make_shared<int>(1);
  const auto holds = [](std::shared_ptr<int>) -> Task<void> { co_return; };
  {
    const Task<void> never_awaited = holds(watched);
  }
  EXPECT_EQ(watched.use_count(), 1);
}

// Awaits that complete at once must not nest: a million frames would overflow any stack.
TEST(Task, KeepsTheStackFlatWhenAwaitsCompleteAtOnce) {
  TaskGroup group;
  std::int64_t sum = 0;
  const auto body = [&]() -> Task<void> {
    for (int i = 0; i < 1'000'000; ++i) sum += co_await seven();
  };
  group.start(body());
  EXPECT_EQ(sum, 7'000'000);
}

TEST(Task, KeepsTheStackFlatWhenAwaitsCompleteLater) {
  TaskGroup group;
  Event event;
  std::int64_t sum = 0;
  const auto body = [&]() -> Task<void> {
    for (int i = 0; i < 200'000; ++i) sum += co_await seven_after(event);
  };
  group.start(body());
  while (group.running() > 0) event.set();
  EXPECT_EQ(sum, 1'400'000);
}

TEST(Task, ResumesAChainOfAwaiters) {
  TaskGroup group;
  Event event;
  const auto add_one = [](auto& self, int depth, Event& end) -> Task<int> {
    if (depth == 0) co_return co_await seven_after(end);
    co_return 1 + co_await self(self, depth - 1, end);
  };
  int value = 0;
  const auto body = [&]() -> Task<void> { value = co_await add_one(add_one, 100, event); };
  group.start(body());
  event.set();
  EXPECT_EQ(value, 107);
}

}  // namespace task_test
}  // namespace h2server::coro
