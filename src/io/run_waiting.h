// Runs a function where waiting for the disk holds up nobody.
#pragma once

#include <concepts>
#include <exception>
#include <optional>
#include <type_traits>
#include <utility>

#include "io/engine.h"

namespace h2server::io {

// What run_waiting() hands over; lives in its frame.
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

// What `work` returns; on an engine with an event loop it is called on another thread. Once begun
// it is not cancelled. Returns nullopt if it was not called, since the engine ends all that starts.
// What it throws is thrown here. Without an engine the caller waits for the disk.
template <std::invocable Work>
Task<std::optional<std::invoke_result_t<Work&>>> run_waiting(Engine* engine, Work work) {
  WaitingWork<Work> waiting{std::move(work), std::nullopt, nullptr};
  const FileCall call = FileCall::run(&WaitingWork<Work>::run, &waiting);
  co_await make_call(engine, call);
  if (waiting.failure) std::rethrow_exception(waiting.failure);
  co_return std::move(waiting.value);
}

}  // namespace h2server::io
