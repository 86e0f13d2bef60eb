// FreedMemory: gives back to the kernel what the process has freed. The heap keeps that: it lies
// among what is in use. One for the process; any thread.
//
// Whatever held memory and ends asks for it. Some time later, when more has ended, a round begins:
// the workers that have event loops are woken and free what they keep in reserve. Then a look
// follows: the pages of the process are counted that the heap has lent to nobody, and only if they
// have become many more since the last time is it worth the effort.
#pragma once

#include <atomic>
#include <cstdint>

namespace h2server::base {

class FreedMemory {
 public:
  static FreedMemory& of_process() noexcept { return of_process_; }

  // Clients may cause rounds: after one, there is none for `pause_ms`, and for `rests` times as
  // long as its look took of a processor. A heap with a million free pieces takes a quarter of a
  // second.
  explicit constexpr FreedMemory(std::int64_t pause_ms = 10'000, int rests = 1000) noexcept
      : pause_ms_(pause_ms), rests_(rests) {}
  FreedMemory(const FreedMemory&) = delete;
  FreedMemory& operator=(const FreedMemory&) = delete;

  [[nodiscard]] std::int64_t pause_ms() const noexcept { return pause_ms_; }

  void ask() noexcept {
    if (!asked()) asked_.store(true, relaxed);
  }
  [[nodiscard]] bool asked() const noexcept { return asked_.load(relaxed); }
  // Returns true, once after ask(), if the caller is to begin a round in pause_ms(), or at once if
  // it cannot wait.
  [[nodiscard]] bool take_request() noexcept { return asked() && asked_.exchange(false, relaxed); }
  // Returns true if the caller is to look once the workers have done their part. Asks again, and
  // returns false, if it is too early.
  [[nodiscard]] bool begin_round() noexcept;
  // Since the start of the process. A worker frees its reserve once for each.
  [[nodiscard]] std::uint32_t rounds() const noexcept { return rounds_.load(relaxed); }
  // Call after that: asks again if the look did not wait for it.
  void freed_for(std::uint32_t round) noexcept {
    if (looked_.load(relaxed) == round) ask();
  }
  // Returns true if it has told the heap to give memory back.
  bool look() noexcept;

 private:
  bool give_back() noexcept;

  static constexpr auto relaxed = std::memory_order_relaxed;

  static FreedMemory of_process_;

  const std::int64_t pause_ms_;
  const int rests_;
  std::atomic<bool> asked_{false};
  std::atomic<std::int64_t> round_from_ms_{0};
  std::atomic<std::uint32_t> rounds_{0};
  std::atomic<std::uint32_t> looked_{0};       // the round of the last look
  std::atomic<std::int64_t> least_unlent_{0};  // in bytes, since some were given back
};

}  // namespace h2server::base
