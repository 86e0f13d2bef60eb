#include "coro/event.h"

#include <gtest/gtest.h>

#include <string>

#include "h2server/task_group.h"

namespace h2server::coro {
namespace event_test {

Task<void> waits(Event& event, int& times, int count) {
  for (int i = 0; i < count; ++i) {
    co_await event.wait();
    ++times;
  }
}

TEST(Event, ResumesTheWaiterInsideSet) {
  Event event;
  TaskGroup group;
  int times = 0;
  group.start(waits(event, times, 2));
  EXPECT_TRUE(event.awaited());
  EXPECT_EQ(times, 0);
  event.set();
  EXPECT_EQ(times, 1);
  EXPECT_TRUE(event.awaited());
  event.set();
  EXPECT_EQ(times, 2);
  EXPECT_FALSE(event.awaited());
}

TEST(Event, RemembersOneSetForTheNextWait) {
  Event event;
  TaskGroup group;
  int times = 0;
  event.set();
  event.set();
  group.start(waits(event, times, 2));
  EXPECT_EQ(times, 1);
  event.set();
  EXPECT_EQ(times, 2);
}

TEST(Event, ForgetsWhenItIsCleared) {
  Event event;
  TaskGroup group;
  int times = 0;
  event.set();
  event.clear();
  group.start(waits(event, times, 1));
  EXPECT_EQ(times, 0);
  event.set();
  EXPECT_EQ(times, 1);
}

TEST(Event, TwoTasksMayTakeTurns) {
  Event ping;
  Event pong;
  TaskGroup group;
  std::string log;
  const auto plays = [&](Event& mine, Event& other, char name) -> Task<void> {
    for (int i = 0; i < 3; ++i) {
      co_await mine.wait();
      log += name;
      other.set();
    }
  };
  group.start(plays(ping, pong, 'a'));
  group.start(plays(pong, ping, 'b'));
  ping.set();
  EXPECT_EQ(log, "ababab");
}

}  // namespace event_test
}  // namespace h2server::coro
