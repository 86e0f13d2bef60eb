// Calls that may wait for the disk, made without blocking an event loop.
#pragma once

#include <concepts>
#include <exception>
#include <optional>
#include <type_traits>
#include <utility>

#include "h2server/task.h"
#include "io/engine.h"

namespace h2server::file {

// Makes `call` through `engine`. If `engine` is null, blocks the calling thread.
inline Task<int> make_call(io::Engine* engine, io::FileCall call) {
  if (engine == nullptr) co_return call.make(true);
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

// Calls `work` and returns its result. An engine with an event loop calls it on another thread;
// otherwise, or if `engine` is null, the calling thread blocks. Once begun, `work` is not
// cancelled. Returns nullopt if it was cancelled before it began. Rethrows what `work` throws.
template <std::invocable Work>
Task<std::optional<std::invoke_result_t<Work&>>> run_waiting(io::Engine* engine, Work work) {
  WaitingWork<Work> waiting{std::move(work), std::nullopt, nullptr};
  const io::FileCall call = io::FileCall::run(&WaitingWork<Work>::run, &waiting);
  co_await make_call(engine, call);
  if (waiting.failure) std::rethrow_exception(waiting.failure);
  co_return std::move(waiting.value);
}

}  // namespace h2server::file
