// Calls that may wait for the disk, made without blocking an event loop.
#pragma once

#include <concepts>
#include <cstdint>
#include <exception>
#include <optional>
#include <type_traits>
#include <utility>

#include "h2server/own_stop.h"
#include "h2server/stop.h"
#include "h2server/task.h"
#include "io/engine.h"

namespace h2server::file {

// Makes `call` through `engine`. If `engine` is null, blocks the calling thread.
inline Task<int> make_call(io::Engine* engine, io::FileCall call) {
  if (engine == nullptr) co_return call.make(true);
  coro::StopState* const stop = co_await coro::OwnStop();
  if (stop != nullptr) call.client = stop->client();
  io::FileOp op(*engine, call);
  const int result = co_await op;
  co_return result;
}

// State shared with the thread that runs the work. Lives in run_waiting()'s frame.
template <std::invocable Work>
struct WaitingWork {
  Work work;
  std::optional<std::invoke_result_t<Work&>> value;
  std::exception_ptr failure;

  static int run(void* self) noexcept {
    WaitingWork& own = *static_cast<WaitingWork*>(self);
    try {
      own.value.emplace(own.work());
    } catch (...) {
      own.failure = std::current_exception();
    }
    return 0;
  }
};

struct WaitingOptions {
  // Nobody wants the result once the task is to stop: it need not begin then.
  bool ends_with_task = false;
  bool takes_long = false;  // seconds, for some files: not on the threads of what is short
  bool reads = false;       // and no more than a little: not on the threads that write
  // As long as another machine or process does not respond: on threads of its own.
  bool slow_file_system = false;
  // Whose turn it takes. 0: that of the task's client. What other clients wait for, too, must not
  // stand in the queue of one.
  std::uint64_t client = 0;
};

// For reads: what they read is for the task alone.
inline constexpr WaitingOptions unless_stopped{.ends_with_task = true};

// For a read on a slow file system, on that device: each of them may have all threads but one.
[[nodiscard]] inline WaitingOptions on_slow_file_system(std::uint64_t device) noexcept {
  return {.ends_with_task = true, .slow_file_system = true, .client = device};
}

// Cancels an operation when a task is to stop. Quietly: a client of HTTP/1.1 that closes its
// sending side may still wait for what is read.
class CancelOnStop final : private coro::StopHook {
 public:
  // `state` may be null; it must not have stopped.
  CancelOnStop(io::Op& op, coro::StopState* state) noexcept : op_(op) {
    if (state != nullptr) hook(*state, true);
  }

 private:
  void on_stop(StopReason) noexcept override { op_.cancel(); }

  io::Op& op_;
};

// Calls `work` and returns its result. An engine with an event loop calls it on another thread,
// in turn with what other clients want; otherwise, or if `engine` is null, the calling thread
// blocks. Once begun, `work` is not cancelled. Returns nullopt if it was cancelled before it began.
// Rethrows what `work` throws.
template <std::invocable Work>
Task<std::optional<std::invoke_result_t<Work&>>> run_waiting(io::Engine* engine, Work work,
                                                             WaitingOptions options = {}) {
  WaitingWork<Work> waiting{std::move(work), std::nullopt, nullptr};
  io::FileCall call = io::FileCall::run(&WaitingWork<Work>::run, &waiting, options.takes_long);
  coro::StopState* const stop = co_await coro::OwnStop();
  if (options.ends_with_task && stop != nullptr && stop->stopped()) co_return std::nullopt;
  call.reads = options.reads;
  call.slow_file_system = options.slow_file_system;
  call.client = options.client == 0 && stop != nullptr ? stop->client() : options.client;
  constexpr std::uint32_t long_work = 10;
  if (stop != nullptr) stop->count_work(options.takes_long ? long_work : 1);
  if (engine == nullptr) {
    waiting.run(&waiting);
  } else {
    io::FileOp op(*engine, call);
    const CancelOnStop cancel(op, options.ends_with_task ? stop : nullptr);
    co_await op;
  }
  if (waiting.failure) std::rethrow_exception(waiting.failure);
  co_return std::move(waiting.value);
}

}  // namespace h2server::file
