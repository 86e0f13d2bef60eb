#include "app/system/task_runner.h"

#include <gtest/gtest.h>

#include <new>
#include <thread>

#include "h2server/timing.h"

namespace h2server::app {
namespace task_runner_test {

using std::chrono::milliseconds;

Task<StoreResult<int>> number() { co_return 7; }

Task<StoreResult<int>> number_after(milliseconds time) {
  co_await sleep_for(time);
  co_return 7;
}

Task<StoreResult<int>> throws() {
  co_await sleep_for(milliseconds(1));
  throw std::bad_alloc();
}

TEST(TaskRunner, RunsOneAfterTheOther) {
  TaskRunner runner = *TaskRunner::open();
  for (int round = 0; round < 3; ++round) {
    EXPECT_EQ(*runner.run(number()), 7);
    EXPECT_EQ(*runner.run(number_after(milliseconds(2))), 7);
  }
}

// The time between two tasks is not taken from the second one's.
TEST(TaskRunner, ItsClockIsThatOfTheTask) {
  TaskRunner runner = *TaskRunner::open();
  EXPECT_EQ(*runner.run(number()), 7);
  EXPECT_EQ(io::Engine::current(), nullptr);
  std::this_thread::sleep_for(milliseconds(300));
  const auto begun = std::chrono::steady_clock::now();
  EXPECT_EQ(*runner.run(number_after(milliseconds(200))), 7);
  EXPECT_GE(std::chrono::steady_clock::now() - begun, milliseconds(190));
}

TEST(TaskRunner, MemoryThatIsExhausted) {
  TaskRunner runner = *TaskRunner::open();
  const StoreResult<int> result = runner.run(throws());
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().reason, "out of memory");
}

}  // namespace task_runner_test
}  // namespace h2server::app
