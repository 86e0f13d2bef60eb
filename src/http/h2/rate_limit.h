// How often something may happen: so often at once, and so often a second in the long run.
#pragma once

#include <algorithm>
#include <cstdint>

namespace h2server::http::h2 {

class RateLimit {
 public:
  explicit RateLimit(std::uint32_t at_once) noexcept : left_(std::int64_t{at_once} * 1000) {}

  // It happens once more; false: too often. `now_ms` is monotonic; the others never change.
  [[nodiscard]] bool allow(std::int64_t now_ms, std::uint32_t at_once,
                           std::uint32_t per_s) noexcept {
    const std::int64_t most = std::int64_t{at_once} * 1000;
    if (last_ms_ != 0) left_ = std::min(most, left_ + (now_ms - last_ms_) * per_s);
    last_ms_ = now_ms;
    left_ -= 1000;
    return left_ >= 0;
  }
  // So many more may happen, but never more at once.
  void earn(std::uint32_t count) noexcept {
    left_ = std::min(most_, left_ + std::int64_t{count} * 1000);
  }

 private:
  std::int64_t left_;  // thousandths: at one a second, a millisecond gives one back
  std::int64_t last_ms_ = 0;
};

}  // namespace h2server::http::h2
