#include "load/schedule.h"

#include <algorithm>
#include <cmath>

namespace h2server::lab::load {

namespace {
constexpr double ns_per_second = 1e9;
}

ArrivalSchedule::ArrivalSchedule(const Pace& pace) noexcept
    : rate_(pace.rate),
      warmup_(static_cast<std::uint64_t>(std::llround(pace.rate * pace.warmup_seconds))),
      total_(warmup_ + static_cast<std::uint64_t>(std::llround(pace.rate * pace.seconds))) {}

// Multiplies, so that the error does not grow with the number.
std::int64_t ArrivalSchedule::due_ns(std::uint64_t number) const noexcept {
  return std::llround(static_cast<double>(number) * ns_per_second / rate_);
}

std::uint64_t ArrivalSchedule::due_count(std::int64_t now_ns) const noexcept {
  if (now_ns < 0) return 0;
  auto count = std::min(
      total_, static_cast<std::uint64_t>(static_cast<double>(now_ns) * rate_ / ns_per_second));
  // The division may be off by one due to rounding; due_ns() is authoritative.
  while (count < total_ && due_ns(count) <= now_ns) ++count;
  while (count > 0 && due_ns(count - 1) > now_ns) --count;
  return count;
}

}  // namespace h2server::lab::load
