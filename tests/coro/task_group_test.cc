#include "h2server/task_group.h"

#include <gtest/gtest.h>

#include <deque>
#include <string>

#include "coro/event.h"

namespace h2server::coro {
namespace task_group_test {

Task<void> notes_after(Event& event, std::string& log, char name) {
  co_await event.wait();
  log += name;
}
Task<void> joins(TaskGroup& group, std::string& log) {
  co_await group.join();
  log += '!';
}

TEST(TaskGroup, JoinsAtOnceWhenNothingRuns) {
  TaskGroup group;
  TaskGroup joiners;
  std::string log;
  joiners.start(joins(group, log));
  EXPECT_EQ(log, "!");
}

TEST(TaskGroup, JoinsWhenTheLastTaskEnds) {
  TaskGroup group;
  TaskGroup joiners;
  std::deque<Event> events(3);
  std::string log;
  for (std::size_t i = 0; i < 3; ++i) {
    group.start(notes_after(events[i], log, static_cast<char>('a' + i)));
  }
  joiners.start(joins(group, log));
  EXPECT_EQ(group.running(), 3U);
  for (const std::size_t i : {1U, 2U, 0U}) events[i].set();
  EXPECT_EQ(log, "bca!");
  EXPECT_EQ(joiners.running(), 0U);
}

TEST(TaskGroup, CanBeUsedAgainAfterAJoin) {
  TaskGroup group;
  TaskGroup joiners;
  std::string log;
  for (int i = 0; i < 3; ++i) {
    Event event;
    group.start(notes_after(event, log, 'a'));
    joiners.start(joins(group, log));
    event.set();
  }
  EXPECT_EQ(log, "a!a!a!");
}

TEST(TaskGroup, ATaskMayStartAnother) {
  TaskGroup group;
  TaskGroup joiners;
  Event first;
  Event second;
  std::string log;
  const auto starts = [&]() -> Task<void> {
    co_await first.wait();
    group.start(notes_after(second, log, 'b'));
    log += 'a';
  };
  group.start(starts());
  joiners.start(joins(group, log));
  first.set();
  EXPECT_EQ(log, "a");
  second.set();
  EXPECT_EQ(log, "ab!");
}

TEST(TaskGroup, WhoeverJoinedMayEndTheGroup) {
  std::optional<TaskGroup> group;
  group.emplace();
  TaskGroup joiners;
  Event event;
  std::string log;
  group->start(notes_after(event, log, 'a'));
  const auto ends = [&]() -> Task<void> {
    co_await group->join();
    group.reset();
  };
  joiners.start(ends());
  event.set();
  EXPECT_FALSE(group.has_value());
}

TEST(TaskGroupDeathTest, AsksToBeJoinedBeforeItDies) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_DEATH(
      {
        Event event;
        std::string log;
        TaskGroup group;
        group.start(notes_after(event, log, 'a'));
      },
      "broken invariant");
}

}  // namespace task_group_test
}  // namespace h2server::coro
