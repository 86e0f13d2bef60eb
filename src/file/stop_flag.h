// StopFlag: tells work on another thread that its task is to stop. Lives on the task's thread, and
// longer than the work.
#pragma once

#include <atomic>

#include "h2server/stop.h"

namespace h2server::file {

class StopFlag final : private coro::StopHook {
 public:
  // `state` may be null: then the flag is never set.
  explicit StopFlag(coro::StopState* state) noexcept {
    if (state == nullptr) return;
    if (state->stopped()) {
      on_stop(state->reason());
    } else {
      hook(*state);
    }
  }

  // Any thread.
  [[nodiscard]] bool is_set() const noexcept { return set_.load(std::memory_order_relaxed); }

 private:
  void on_stop(StopReason) noexcept override { set_.store(true, std::memory_order_relaxed); }

  std::atomic<bool> set_{false};
};

// Returns false if there is no flag.
[[nodiscard]] inline bool is_set(const StopFlag* flag) noexcept {
  return flag != nullptr && flag->is_set();
}

}  // namespace h2server::file
