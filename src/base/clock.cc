#include "base/clock.h"

#include <ctime>

namespace h2server::base {

namespace {

std::int64_t ns_of(clockid_t clock) noexcept {
  timespec now{};
  ::clock_gettime(clock, &now);
  return std::int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

}  // namespace

std::int64_t monotonic_ms() noexcept {
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
  return std::int64_t{now.tv_sec} * 1000 + now.tv_nsec / 1'000'000;
}

std::int64_t monotonic_ns() noexcept { return ns_of(CLOCK_MONOTONIC); }

std::int64_t monotonic_us() noexcept { return monotonic_ns() / 1000; }

std::int64_t unix_us() noexcept { return ns_of(CLOCK_REALTIME) / 1000; }

std::int64_t unix_seconds() noexcept {
  timespec now{};
  ::clock_gettime(CLOCK_REALTIME_COARSE, &now);
  return now.tv_sec;
}

}  // namespace h2server::base
