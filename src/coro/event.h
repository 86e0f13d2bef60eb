// Event: a notification from one coroutine to one other on the same thread.
//
// set() resumes the waiter inside the call. Without a waiter, the next wait() returns at once. A
// wait() resets the event; set() calls before it count as one.
#pragma once

#include <coroutine>
#include <utility>

#include "base/assert.h"

namespace h2server::coro {

class Event {
 public:
  Event() = default;
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;
  ~Event() { ASSERT(!waiter_); }

  void set() {
    if (waiter_) {
      std::exchange(waiter_, nullptr).resume();
    } else {
      is_set_ = true;
    }
  }

  [[nodiscard]] bool awaited() const noexcept { return waiter_ != nullptr; }
  // Discards a set() that no wait() has consumed.
  void clear() noexcept { is_set_ = false; }

  auto wait() noexcept {
    struct Awaiter {
      Event& event;
      bool await_ready() const noexcept { return std::exchange(event.is_set_, false); }
      void await_suspend(std::coroutine_handle<> waiter) const noexcept {
        ASSERT(!event.waiter_);
        event.waiter_ = waiter;
      }
      void await_resume() const noexcept {}
    };
    return Awaiter{*this};
  }

 private:
  std::coroutine_handle<> waiter_;
  bool is_set_ = false;
};

}  // namespace h2server::coro
