// RateLimit: a token bucket. Allows a burst of `at_once` events, and `per_s` events a second in the
// long run. Not thread-safe.
#pragma once

#include <algorithm>
#include <cstdint>

namespace h2server::http::h2 {

class RateLimit {
 public:
  RateLimit(std::uint32_t at_once, std::uint32_t per_s) noexcept
      : at_once_(at_once), per_s_(per_s), left_(most()) {}

  // Counts events. Returns false if the limit is exceeded. `now_ms` is monotonic.
  [[nodiscard]] bool allow(std::int64_t now_ms, std::uint32_t count = 1) noexcept {
    if (last_ms_ != 0) left_ = std::min(most(), left_ + (now_ms - last_ms_) * per_s_);
    last_ms_ = now_ms;
    left_ -= std::int64_t{count} * 1000;
    return left_ >= 0;
  }
  // Allows `count` more events, but never more than a burst.
  void earn(std::uint32_t count) noexcept {
    left_ = std::min(most(), left_ + std::int64_t{count} * 1000);
  }

 private:
  [[nodiscard]] std::int64_t most() const noexcept { return std::int64_t{at_once_} * 1000; }

  std::uint32_t at_once_;
  std::uint32_t per_s_;
  std::int64_t left_;  // thousandths of an event; a millisecond earns per_s_
  std::int64_t last_ms_ = 0;
};

}  // namespace h2server::http::h2
