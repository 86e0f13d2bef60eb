#include "h2server/stop.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "h2server/task.h"
#include "h2server/task_group.h"

namespace h2server::coro {
namespace stop_test {

struct Noted final : StopHook {
  Noted(std::string text, std::vector<std::string>& all) : name(std::move(text)), log(all) {}
  void on_stop(StopReason reason) noexcept override {
    log.push_back(name + " " + std::to_string(static_cast<int>(reason)));
    if (then) then();
  }
  const std::string name;
  std::vector<std::string>& log;
  std::function<void()> then;
};

TEST(Stop, CallsEachHookOnceTheOldestFirst) {
  StopState state;
  std::vector<std::string> log;
  Noted a("a", log), b("b", log), c("c", log);
  for (Noted* const one : {&a, &b, &c}) one->hook(state);
  b.unhook();
  EXPECT_FALSE(state.stopped());
  state.stop(StopReason::deadline);
  EXPECT_EQ(log, (std::vector<std::string>{"a 2", "c 2"}));
  EXPECT_EQ(state.reason(), StopReason::deadline);
  EXPECT_FALSE(a.hooked());
  state.stop(StopReason::client_left);
  EXPECT_EQ(state.reason(), StopReason::deadline) << "the first reason stays";
  EXPECT_EQ(log.size(), 2U);
}

TEST(Stop, HooksMayDestroyOthersAndTheState) {
  std::vector<std::string> log;
  auto state = std::make_unique<StopState>();
  auto gone = std::make_unique<Noted>("gone", log);
  Noted left("left", log), first("first", log);
  first.hook(*state);
  gone->hook(*state);
  left.hook(*state);
  first.then = [&] {
    gone.reset();
    state.reset();
  };
  state->stop(StopReason::client_left);
  EXPECT_EQ(log, std::vector<std::string>{"first 1"});
  EXPECT_FALSE(left.hooked());
}

TEST(Stop, AClearedStateStartsAnew) {
  StopState state;
  std::vector<std::string> log;
  Noted old("old", log), next("next", log);
  old.hook(state);
  old.then = [&] {
    state.clear();
    next.hook(state);
  };
  state.stop(StopReason::client_left);
  EXPECT_FALSE(state.stopped());
  EXPECT_TRUE(next.hooked()) << "not called by the stop() before it";
  state.stop(StopReason::server_stops);
  EXPECT_EQ(log, (std::vector<std::string>{"old 1", "next 3"}));
}

TEST(Stop, TellsTheObserverOfHooks) {
  struct Counting final : StopState::Observer {
    void on_hook() noexcept override { ++calls; }
    void on_stop() noexcept override { ++stops; }
    int calls = 0;
    int stops = 0;
  } observer;
  StopState state;
  std::vector<std::string> log;
  Noted a("a", log), b("b", log);
  state.observe(&observer);
  a.hook(state);
  b.hook(state);
  EXPECT_EQ(observer.calls, 2);
  a.unhook();
  b.unhook();
  a.hook(state);
  EXPECT_EQ(observer.calls, 3);
  EXPECT_TRUE(state.hooked());
  EXPECT_FALSE(state.hooked_twice());
  state.stop(StopReason::deadline);
  EXPECT_EQ(observer.stops, 1);
}

TEST(Stop, TellsNobodyOfQuietHooks) {
  struct Counter final : StopState::Observer {
    void on_hook() noexcept override { ++hooks; }
    void on_stop() noexcept override {}
    int hooks = 0;
  } counter;
  struct Quiet final : StopHook {
    void on_stop(StopReason) noexcept override { ++stops; }
    int stops = 0;
  };
  StopState state;
  state.observe(&counter);
  Quiet quiet;
  Quiet loud;
  quiet.hook(state, true);
  EXPECT_EQ(counter.hooks, 0);
  EXPECT_FALSE(state.hooked());
  loud.hook(state);
  EXPECT_EQ(counter.hooks, 1);
  EXPECT_TRUE(state.hooked());
  EXPECT_FALSE(state.hooked_twice());
  loud.unhook();
  EXPECT_FALSE(state.hooked());
  state.stop(StopReason::client_left);
  EXPECT_EQ(quiet.stops, 1);
  EXPECT_EQ(loud.stops, 0);
}

TEST(Stop, ACallbackIsCalledAtOnceIfItIsTooLate) {
  StopState state;
  int calls = 0;
  {
    const StopCallback forgotten(StopToken(&state), [&] { ++calls; });
  }
  const StopCallback callback(StopToken(&state), [&] { ++calls; });
  const StopCallback never(StopToken(), [&] { calls = -1; });
  state.stop(StopReason::client_left);
  EXPECT_EQ(calls, 1);
  const StopCallback late(StopToken(&state), [&] { ++calls; });
  EXPECT_EQ(calls, 2);
  EXPECT_TRUE(StopToken(&state).stop_requested());
  EXPECT_FALSE(StopToken().stop_requested());
}

Task<bool> waits(StoppableWait& wait) {
  const bool complete = co_await wait;
  co_return complete;
}
Task<void> outer(StoppableWait& wait, int& outcome) {
  const bool complete = co_await waits(wait);
  outcome = complete ? 1 : 0;
}

// A task has the state of the task that awaits it.
TEST(Stop, EndsTheWaitsOfATaskAndOfThoseThatItAwaits) {
  for (const bool completes : {true, false}) {
    StopState state;
    StoppableWait wait;
    int outcome = -1;
    TaskGroup group;
    Task<void> task = outer(wait, outcome);
    task.stop_by(state);
    group.start(std::move(task));
    EXPECT_EQ(outcome, -1);
    if (completes) wait.complete();
    else state.stop(StopReason::client_left);
    EXPECT_EQ(outcome, completes ? 1 : 0);
    state.stop(StopReason::client_left);  // nobody waits any more
  }
}

TEST(Stop, AWaitOfAStoppedTaskDoesNotSuspend) {
  StopState state;
  state.stop(StopReason::deadline);
  StoppableWait wait;
  int outcome = -1;
  TaskGroup group;
  Task<void> task = outer(wait, outcome);
  task.stop_by(state);
  group.start(std::move(task));
  EXPECT_EQ(outcome, 0);
}

}  // namespace stop_test
}  // namespace h2server::coro
