// Due times of an open loop: one request every 1/rate seconds, independent of the server.
//
// Reads no clock: times are nanoseconds since the start of the schedule, passed in. The arrivals of
// the warm-up come first; they are sent but not measured.
#pragma once

#include <cstdint>

namespace h2server::lab::load {

struct Pace {
  double rate = 1;  // arrivals per second
  double seconds = 1;
  double warmup_seconds = 0;
};

class ArrivalSchedule {
 public:
  explicit ArrivalSchedule(const Pace& pace) noexcept;

  [[nodiscard]] std::uint64_t total() const noexcept { return total_; }
  [[nodiscard]] std::uint64_t warmup() const noexcept { return warmup_; }
  [[nodiscard]] std::uint64_t measured() const noexcept { return total_ - warmup_; }

  // Returns when arrival `number` (0, 1 …) is due.
  [[nodiscard]] std::int64_t due_ns(std::uint64_t number) const noexcept;
  // Returns how many arrivals are due at or before `now_ns`.
  [[nodiscard]] std::uint64_t due_count(std::int64_t now_ns) const noexcept;

 private:
  double rate_;
  std::uint64_t warmup_;
  std::uint64_t total_;
};

}  // namespace h2server::lab::load
