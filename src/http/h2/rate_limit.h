// How often something may happen: so often at once, and so often a second in the long run.
#pragma once

#include <algorithm>
#include <cstdint>

namespace h2server::http::h2 {

class RateLimit {
 public:
  RateLimit(std::uint32_t at_once, std::uint32_t per_s) noexcept
      : at_once_(at_once), per_s_(per_s), left_(most()) {}

  // It happens once more; false: too often. `now_ms` is monotonic.
  [[nodiscard]] bool allow(std::int64_t now_ms) noexcept {
    if (last_ms_ != 0) left_ = std::min(most(), left_ + (now_ms - last_ms_) * per_s_);
    last_ms_ = now_ms;
    left_ -= 1000;
    return left_ >= 0;
  }
  // So many more may happen, but never more at once.
  void earn(std::uint32_t count) noexcept {
    left_ = std::min(most(), left_ + std::int64_t{count} * 1000);
  }

 private:
  [[nodiscard]] std::int64_t most() const noexcept { return std::int64_t{at_once_} * 1000; }

  std::uint32_t at_once_;
  std::uint32_t per_s_;
  std::int64_t left_;  // thousandths: at one a second, a millisecond gives one back
  std::int64_t last_ms_ = 0;
};

}  // namespace h2server::http::h2
