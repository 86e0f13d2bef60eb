// TimerWheel: deadlines, checked lazily. Moving an armed timer later costs one comparison.
//
// The wheel has 512 slots of 64 ms. A timer that is due in a later round stays in its slot until
// then. Not thread-safe; one wheel per engine. Does not own timers.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace h2server::base {

// An entry of the wheel. Its owner must disarm it before destroying it.
struct Timer {
  Timer* next = nullptr;
  Timer* previous = nullptr;
  std::int64_t due_ms = 0;
  void* owner = nullptr;           // for fire
  void (*fire)(Timer&) = nullptr;  // may arm the timer again

  [[nodiscard]] bool armed() const noexcept { return next != nullptr; }
};

class TimerWheel {
 public:
  static constexpr std::int64_t tick_ms = 64;  // a timer fires at most this much late

  explicit TimerWheel(std::int64_t now_ms);
  TimerWheel(const TimerWheel&) = delete;
  TimerWheel& operator=(const TimerWheel&) = delete;

  // Moves an armed timer only if `due_ms` is earlier than its current time. Otherwise it fires too
  // early, and its owner, which knows the real deadline, arms it again.
  void arm(Timer& timer, std::int64_t due_ms) noexcept;
  void disarm(Timer& timer) noexcept;

  // Returns milliseconds until advance() may have something to do, or -1 if no timer is armed.
  [[nodiscard]] int wait_ms(std::int64_t now_ms) noexcept;
  // Fires the timers that are due.
  void advance(std::int64_t now_ms) noexcept;

 private:
  static constexpr std::size_t slots = 512;

  void link(Timer& timer) noexcept;
  void fire_slot(Timer& head, std::int64_t now_ms) noexcept;

  std::array<Timer, slots> heads_;  // each a ring
  std::int64_t tick_;               // the next to visit
  std::int64_t empty_until_;        // no slot before this tick holds a timer
  std::size_t armed_ = 0;
};

}  // namespace h2server::base
