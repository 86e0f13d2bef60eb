// LastSweep: when something was swept last. Any thread.
//
// The server's upkeep sweeps once in a pause (content/uploads/upkeep.h). Schemes without event
// loops have none: there, a request does it, once in two pauses.
#pragma once

#include <atomic>
#include <cstdint>
#include <limits>

#include "base/clock.h"

namespace h2server::content {

class LastSweep {
 public:
  // A sweep begins.
  void note() noexcept { at_ms_ = base::monotonic_ms(); }
  // Returns true if a request is to sweep now: to one caller, whose sweep this notes.
  [[nodiscard]] bool take_turn(std::int64_t pause_ms) noexcept {
    const std::int64_t now_ms = base::monotonic_ms();
    std::int64_t before = at_ms_;
    return now_ms - before >= 2 * pause_ms && at_ms_.compare_exchange_strong(before, now_ms);
  }

 private:
  std::atomic<std::int64_t> at_ms_{std::numeric_limits<std::int64_t>::min() / 2};
};

}  // namespace h2server::content
