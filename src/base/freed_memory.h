// FreedMemory: gives back to the kernel what the process has freed. The heap keeps that: it lies
// among what is in use. One for the process; any thread.
//
// Whatever held memory and ends asks for it. Some time later, when more has ended, the pages of the
// process are counted that the heap has lent to nobody: only if they have become many more since
// the last time is it worth the effort.
#pragma once

#include <atomic>
#include <cstdint>

namespace h2server::base {

class FreedMemory {
 public:
  static FreedMemory& of_process() noexcept { return of_process_; }

  // Looks at most once in `pause_ms`: clients may cause it, and to give back takes milliseconds.
  explicit constexpr FreedMemory(std::int64_t pause_ms = 10'000) noexcept : pause_ms_(pause_ms) {}
  FreedMemory(const FreedMemory&) = delete;
  FreedMemory& operator=(const FreedMemory&) = delete;

  [[nodiscard]] std::int64_t pause_ms() const noexcept { return pause_ms_; }

  void ask() noexcept {
    if (!asked()) asked_.store(true, relaxed);
  }
  [[nodiscard]] bool asked() const noexcept { return asked_.load(relaxed); }
  // Returns true, once after ask(), if the caller is to look in pause_ms().
  [[nodiscard]] bool take_request() noexcept { return asked() && asked_.exchange(false, relaxed); }
  // Returns true if it gave memory back. Asks again if it is too early to look.
  bool look() noexcept;

 private:
  static constexpr auto relaxed = std::memory_order_relaxed;

  static FreedMemory of_process_;

  const std::int64_t pause_ms_;
  std::atomic<bool> asked_{false};
  std::atomic<std::int64_t> look_from_ms_{0};
  std::atomic<std::int64_t> least_unlent_{0};  // in bytes, since some were given back
};

}  // namespace h2server::base
