// The monotonic clock of the load generator.
#pragma once

#include <cstdint>
#include <ctime>

namespace h2server::lab::load {

constexpr std::int64_t ns_per_us = 1'000;
constexpr std::int64_t ns_per_ms = 1'000'000;
constexpr std::int64_t ns_per_s = 1'000'000'000;

// Returns nanoseconds since an arbitrary fixed point.
[[nodiscard]] inline std::int64_t now_ns() noexcept {
  timespec time{};
  ::clock_gettime(CLOCK_MONOTONIC, &time);  // cannot fail for this clock
  return time.tv_sec * ns_per_s + time.tv_nsec;
}

// Rounds nanoseconds to microseconds, for histograms.
[[nodiscard]] constexpr std::uint64_t to_us(std::int64_t ns) noexcept {
  return ns <= 0 ? 0 : static_cast<std::uint64_t>((ns + ns_per_us / 2) / ns_per_us);
}

}  // namespace h2server::lab::load
