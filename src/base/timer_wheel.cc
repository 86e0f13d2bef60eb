#include "base/timer_wheel.h"

#include <algorithm>
#include <limits>

#include "base/assert.h"

namespace h2server::base {

TimerWheel::TimerWheel(std::int64_t now_ms) : tick_(now_ms / tick_ms), empty_until_(tick_) {
  for (Timer& head : heads_) head.next = head.previous = &head;
}

void TimerWheel::link(Timer& timer) noexcept {
  // Rounded up, so that a timer never fires before it is due.
  const std::int64_t tick = std::max(tick_, timer.due_ms / tick_ms + 1);
  Timer& head = heads_[static_cast<std::size_t>(tick) % slots];
  timer.previous = head.previous;
  timer.next = &head;
  head.previous->next = &timer;
  head.previous = &timer;
  empty_until_ = armed_ == 0 ? tick : std::min(empty_until_, tick);
  ++armed_;
}

void TimerWheel::arm(Timer& timer, std::int64_t due_ms) noexcept {
  ASSERT(timer.fire != nullptr);
  if (timer.armed()) {
    if (timer.due_ms <= due_ms) return;
    disarm(timer);
  }
  timer.due_ms = due_ms;
  link(timer);
}

void TimerWheel::disarm(Timer& timer) noexcept {
  if (!timer.armed()) return;
  timer.previous->next = timer.next;
  timer.next->previous = timer.previous;
  timer.next = timer.previous = nullptr;
  --armed_;
}

int TimerWheel::wait_ms(std::int64_t now_ms) noexcept {
  if (armed_ == 0) return -1;
  // Every timer is in one of the next 512 slots, so the search ends. It resumes where it stopped.
  empty_until_ = std::max(empty_until_, tick_);
  for (;; ++empty_until_) {
    const Timer& head = heads_[static_cast<std::size_t>(empty_until_) % slots];
    if (head.next != &head) break;
  }
  constexpr std::int64_t wait_ms_max = std::numeric_limits<int>::max();  // 24 days
  return static_cast<int>(
      std::clamp<std::int64_t>(empty_until_ * tick_ms - now_ms, 0, wait_ms_max));
}

void TimerWheel::fire_slot(Timer& head, std::int64_t now_ms) noexcept {
  // Moves due timers to a separate ring first, because firing may arm and disarm any timer.
  Timer due;
  due.next = due.previous = &due;
  for (Timer* timer = head.next; timer != &head;) {
    Timer* const following = timer->next;
    if (timer->due_ms <= now_ms) {
      timer->previous->next = timer->next;
      timer->next->previous = timer->previous;
      timer->previous = due.previous;
      timer->next = &due;
      due.previous->next = timer;
      due.previous = timer;
    }
    timer = following;
  }
  while (due.next != &due) {
    Timer& timer = *due.next;
    disarm(timer);
    timer.fire(timer);
  }
}

void TimerWheel::advance(std::int64_t now_ms) noexcept {
  const std::int64_t now_tick = now_ms / tick_ms;
  // After a long sleep, one round visits every slot.
  tick_ = std::max(tick_, now_tick - static_cast<std::int64_t>(slots) + 1);
  while (tick_ <= now_tick) {
    Timer& head = heads_[static_cast<std::size_t>(tick_) % slots];
    ++tick_;  // first, so that timers armed while firing go to a later slot
    fire_slot(head, now_ms);
  }
}

}  // namespace h2server::base
