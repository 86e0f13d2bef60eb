// LogBell: wakes the log's thread. Workers look at one number that seldom changes, and make a
// system call only if the thread sleeps and wants to be woken.
#pragma once

#include <atomic>
#include <cstdint>

#include "base/fd.h"
#include "h2server/result.h"

namespace h2server::observe {

class LogBell {
 public:
  enum class Sleep : std::uint32_t {
    none,   // the thread is at work, and looks at all rings before it sleeps
    light,  // until its timeout, or until a ring has much
    deep,   // until its timeout, or until there is a line
  };

  // Once, before any other call.
  Result<void> open();

  // Any thread.
  [[nodiscard]] Sleep sleep() const noexcept { return sleep_.load(std::memory_order_relaxed); }
  // Any thread. One system call if the thread sleeps, else none.
  void ring() noexcept;

  // The log's thread: says how it is about to sleep. It then looks at the rings again, waits until
  // descriptor() is readable, and calls rise().
  void lie_down(Sleep how) noexcept { sleep_.store(how); }
  void rise() noexcept;
  [[nodiscard]] int descriptor() const noexcept { return event_.get(); }

 private:
  std::atomic<Sleep> sleep_{Sleep::none};
  base::Fd event_;
};

}  // namespace h2server::observe
