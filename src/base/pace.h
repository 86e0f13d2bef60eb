// Pace: how long to wait for a peer that has to move bytes.
//
// It starts with some slack. Waiting uses up slack, and each byte earns a part of it back, up to
// the initial slack. So a peer fails if it stops for the whole slack, or if it moves fewer than
// `bytes_per_s` in the long run.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>

namespace h2server::base {

class Pace {
 public:
  // Returns one deadline for all waits: bytes earn nothing back.
  static constexpr Pace deadline(std::uint32_t ms) noexcept {
    return {ms, std::numeric_limits<std::uint32_t>::max()};
  }

  constexpr Pace(std::uint32_t slack_ms, std::uint32_t bytes_per_s) noexcept
      : slack_ms_(slack_ms), bytes_per_s_(bytes_per_s), left_ms_(slack_ms) {}

  // Returns the longest wait from now on; at least 1, because 0 means "no limit" to an engine.
  [[nodiscard]] constexpr std::uint32_t left_ms() const noexcept {
    return static_cast<std::uint32_t>(std::max<std::int64_t>(left_ms_, 1));
  }
  // Records that `bytes` moved in `elapsed_ms`. Returns false if the peer is too slow.
  [[nodiscard]] constexpr bool moved(std::int64_t elapsed_ms, std::uint64_t bytes) noexcept {
    left_ms_ -= elapsed_ms;
    if (left_ms_ <= 0) return false;
    const std::uint64_t earned_ms = bytes * 1000 / bytes_per_s_;
    const auto missing_ms = static_cast<std::uint64_t>(slack_ms_ - left_ms_);
    left_ms_ += static_cast<std::int64_t>(std::min(earned_ms, missing_ms));
    return true;
  }

 private:
  std::uint32_t slack_ms_;
  std::uint32_t bytes_per_s_;
  std::int64_t left_ms_;
};

}  // namespace h2server::base
