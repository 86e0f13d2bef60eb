// Waiting for a time, and ending a task at one. For handlers and tasks of a worker.
#pragma once

#include <cerrno>
#include <chrono>
#include <memory>
#include <type_traits>

#include "h2server/own_stop.h"
#include "h2server/result.h"
#include "h2server/stop.h"
#include "h2server/task.h"

#pragma GCC visibility push(default)
namespace h2server {

// Suspends the task. Timers fire at most 64 ms late. Fails with ECANCELED if the task is to stop.
// Throws std::logic_error if the calling thread runs no handler.
Task<Result<void>> sleep_for(std::chrono::milliseconds time);
Task<Result<void>> sleep_until(std::chrono::steady_clock::time_point time);

// co_await own_stop_token() yields the token of the task that awaits it.
struct own_stop_token : private coro::OwnStop {
  using OwnStop::await_ready;
  using OwnStop::await_suspend;
  StopToken await_resume() const noexcept { return StopToken(state); }
};

namespace coro {

// Stops a state after a time.
class StopTimer {
 public:
  // Throws as own_mailbox(). `state` must outlive this.
  StopTimer(std::chrono::milliseconds time, StopState& state);
  ~StopTimer();

 private:
  struct Timer;
  std::unique_ptr<Timer> timer_;
};

// Stops a state after a time, or when another one stops.
class Deadline final : private StopHook {
 public:
  // Throws as own_mailbox(). `outer` may be null.
  Deadline(std::chrono::milliseconds time, StopState* outer) : timer_(time, state_) {
    if (outer == nullptr) return;
    state_.work_for(outer->client());
    if (outer->stopped()) state_.stop(outer->reason());
    else hook(*outer);
  }

  [[nodiscard]] StopState& state() noexcept { return state_; }
  [[nodiscard]] bool passed() const noexcept { return state_.reason() == StopReason::deadline; }

 private:
  void on_stop(StopReason reason) noexcept override { state_.stop(reason); }

  StopState state_;
  StopTimer timer_;
};

template <class T>
struct TimedOf {
  using Type = Result<T>;
};
template <class T>
struct TimedOf<Result<T>> {
  using Type = Result<T>;
};

}  // namespace coro

// Runs the task, and stops it after `time`. Yields what the task yields, or ETIMEDOUT if it was
// stopped in that way. Waits for the end of the task in any case: a task that waits for nothing of
// this library takes as long as it takes.
template <class T>
Task<typename coro::TimedOf<T>::Type> with_timeout(std::chrono::milliseconds time, Task<T> task) {
  constexpr bool is_result = std::is_same_v<typename coro::TimedOf<T>::Type, T>;
  coro::StopState* const outer = co_await coro::OwnStop();
  coro::Deadline deadline(time, outer);
  task.stop_by(deadline.state());
  if constexpr (std::is_void_v<T>) {
    co_await task;
    if (!deadline.passed()) co_return {};
  } else {
    T value = co_await task;
    bool has_value = true;
    if constexpr (is_result) has_value = value.has_value();
    if (!deadline.passed() || (is_result && has_value)) co_return std::move(value);
  }
  co_return std::unexpected(Error{ETIMEDOUT, "with_timeout"});
}

}  // namespace h2server
#pragma GCC visibility pop
