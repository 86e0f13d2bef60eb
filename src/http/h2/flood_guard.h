// FloodGuard: limits what costs the server more than the client, in both sessions: control frames
// that make no progress ("idle"), and streams that are opened to be reset. If a limit is exceeded,
// the session ends the connection with ENHANCE_YOUR_CALM. One per connection.
#pragma once

#include <algorithm>
#include <cstdint>

#include "h2server/limits.h"
#include "http/h2/protocol.h"
#include "http/h2/rate_limit.h"
#include "http/observer.h"

namespace h2server::http::h2 {

class FloodGuard {
 public:
  explicit FloodGuard(const Limits& limits) noexcept
      : idle_frames_(limits.idle_frames_max, limits.idle_frames_per_s_max),
        resets_(limits.resets_max, limits.resets_per_s_max) {}

  // Sets the time of the calls that follow; monotonic.
  void set_time(std::int64_t now_ms) noexcept { now_ms_ = now_ms; }
  [[nodiscard]] std::int64_t now_ms() const noexcept { return now_ms_; }

  // A stream allows four idle frames more: a WINDOW_UPDATE or RST_STREAM that crosses its end, a
  // PRIORITY_UPDATE, an acknowledgement.
  void credit_stream() noexcept { idle_frames_.earn(4); }
  // A PING of ours allows one more: the answer is an idle frame.
  void credit_ping() noexcept { idle_frames_.earn(1); }

  // Counts an idle frame: SETTINGS, PING, PRIORITY, empty DATA, frames on closed streams, and
  // extensions (CVE-2019-9512, 9513, 9515, 9518). Returns false if the limit is exceeded.
  [[nodiscard]] bool allow_idle_frame() noexcept {
    const bool allowed = idle_frames_.allow(now_ms_);
    if (!allowed) exceeded_ = ConnectionError::Flood::idle_frames;
    return allowed;
  }
  // Counts a stream that the client resets before it is answered (CVE-2023-44487), or makes us
  // reset (CVE-2025-8671), and as more the more `work` was done for it (StopState::work()).
  // Returns false if the limit is exceeded.
  [[nodiscard]] bool allow_reset(std::uint32_t work = 0) noexcept {
    const bool allowed = resets_.allow(now_ms_, 1 + std::min(work, work_counted_max));
    if (!allowed) exceeded_ = ConnectionError::Flood::resets;
    return allowed;
  }

  // Describes how the session ended with `code`.
  [[nodiscard]] ConnectionError error_of(ErrorCode code) const noexcept {
    ConnectionError error{.code = static_cast<std::uint32_t>(code), .flood = exceeded_};
    const bool is_other = exceeded_ == ConnectionError::Flood::none;
    if (code == ErrorCode::enhance_your_calm && is_other) {
      error.flood = ConnectionError::Flood::other;
    }
    return error;
  }

 private:
  // A download or an upload of an honest client may have been long.
  static constexpr std::uint32_t work_counted_max = 10;

  RateLimit idle_frames_;
  RateLimit resets_;
  std::int64_t now_ms_ = 0;
  ConnectionError::Flood exceeded_ = ConnectionError::Flood::none;
};

}  // namespace h2server::http::h2
