#include "base/log_fold.h"

#include <utility>

namespace h2server::base {

bool LogFold::counts(std::uint8_t kind, std::string_view line, std::int64_t now_ms) noexcept {
  if (!known_ || kind != kind_ || line != text() || now_ms - since_ms_ >= window_ms) return false;
  ++times_;
  return true;
}

LogFold::Repeated LogFold::take() noexcept {
  return {kind_, text(), std::exchange(times_, std::uint64_t{0})};
}

void LogFold::written(std::uint8_t kind, std::string_view line, std::int64_t now_ms) noexcept {
  known_ = line.size() <= bytes_max;
  if (!known_) return;
  kind_ = kind;
  since_ms_ = now_ms;
  bytes_ = line.copy(text_.data(), bytes_max);
}

}  // namespace h2server::base
