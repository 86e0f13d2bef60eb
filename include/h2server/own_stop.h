// co_await OwnStop() yields the stop state of the task that awaits it; null if it has none. For the
// library itself: handlers have Request::stop_token() and own_stop_token().
#pragma once

#include <coroutine>

#include "h2server/stop.h"

#pragma GCC visibility push(default)
namespace h2server::coro {

struct OwnStop {
  bool await_ready() const noexcept { return false; }
  template <class Promise>
  bool await_suspend(std::coroutine_handle<Promise> task) noexcept {
    state = task.promise().stop_state();
    return false;
  }
  StopState* await_resume() const noexcept { return state; }
  StopState* state = nullptr;
};

}  // namespace h2server::coro
#pragma GCC visibility pop
