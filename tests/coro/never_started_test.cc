// GCC 12 miscompiles some coroutines into ones that never start. Tests that each one either runs or
// reports that it did not.
#include <gtest/gtest.h>

#include <stdexcept>
#include <string>

#include "coro/event.h"
#include "h2server/task.h"
#include "h2server/task_group.h"

namespace h2server::coro {
namespace never_started_test {

Task<bool> is(bool value) { co_return value; }

// Local variables would hide the bug: GCC 12 compiles coroutines that have some correctly.
Task<int> condition_of_if() {
  if (co_await is(true)) co_return 1;
  co_return 2;
}
Task<int> negated() {
  if (!co_await is(false)) co_return 1;
  co_return 2;
}
Task<int> condition_of_while() {
  while (co_await is(false)) {
  }
  co_return 1;
}
Task<int> condition_of_do() {
  do {
  } while (co_await is(false));
  co_return 1;
}
Task<int> condition_of_for() {
  for (; co_await is(false);) {
  }
  co_return 1;
}
Task<int> switched() {
  switch (co_await is(true)) {
    case true:
      co_return 1;
    case false:
      break;
  }
  co_return 2;
}
Task<int> both() {
  if (co_await is(true) && co_await is(true)) co_return 1;
  co_return 2;
}

// Awaits `task` and stores its value or the message of its exception.
Task<void> run(Task<int> task, int& value, std::string& failure) {
  try {
    value = co_await task;
  } catch (const std::logic_error& error) {
    failure = error.what();
  }
}

TEST(NeverStarted, ATaskRunsOrSaysThatItDoesNot) {
  for (const auto make : {condition_of_if, negated, condition_of_while, condition_of_do,
                          condition_of_for, switched, both}) {
    int value = 0;
    std::string failure;
    TaskGroup group;
    group.start(run(make(), value, failure));
    EXPECT_EQ(group.running(), 0U);
    const bool named = failure.find("name the result first: bool ok = co_await") != failure.npos;
    EXPECT_TRUE(value == 1 || named) << value << failure;
  }
}

Task<void> wait_and_then(Event& event, Task<int> task, int& value, std::string& failure) {
  co_await event.wait();
  co_await run(std::move(task), value, failure);
  co_await event.wait();
}

// Only the task itself fails; its awaiter continues.
TEST(NeverStarted, ItsAwaiterGoesOn) {
  Event event;
  TaskGroup group;
  int value = 0;
  std::string failure;
  group.start(wait_and_then(event, condition_of_if(), value, failure));
  event.set();
  EXPECT_TRUE(value == 1 || !failure.empty());
  EXPECT_EQ(group.running(), 1U);
  event.set();
  EXPECT_EQ(group.running(), 0U);
}

}  // namespace never_started_test
}  // namespace h2server::coro
