// What a client may do that costs the server more than itself, in both sessions: frames that lead
// nowhere, and streams that are opened to be reset. Where it does too much of it, its connection
// ends with ENHANCE_YOUR_CALM.
#pragma once

#include <cstdint>

#include "http/h2/rate_limit.h"
#include "http/limits.h"

namespace h2server::http::h2 {

class FloodGuard {
 public:
  explicit FloodGuard(const Limits& limits) noexcept
      : idle_frames_(limits.idle_frames_max, limits.idle_frames_per_s_max),
        resets_(limits.resets_max, limits.resets_per_s_max) {}

  // What follows happens now. Monotonic.
  void set_time(std::int64_t now_ms) noexcept { now_ms_ = now_ms; }

  // A stream brings about idle frames of its own: a WINDOW_UPDATE or RST_STREAM that crosses its
  // end, a PRIORITY_UPDATE, an acknowledgement.
  void note_stream() noexcept { idle_frames_.earn(4); }
  // We have asked for an answer, which is an idle frame.
  void note_question() noexcept { idle_frames_.earn(1); }

  // SETTINGS, PING, PRIORITY, empty DATA, what concerns a stream that is gone, and extensions:
  // CVE-2019-9512, 9513, 9515, 9518. Returns false if it is one too many.
  [[nodiscard]] bool allow_idle_frame() noexcept { return idle_frames_.allow(now_ms_); }
  // The client resets a stream that is not answered yet, CVE-2023-44487, or makes us reset one,
  // CVE-2025-8671. Returns false if it is one too many.
  [[nodiscard]] bool allow_reset() noexcept { return resets_.allow(now_ms_); }

 private:
  RateLimit idle_frames_;
  RateLimit resets_;
  std::int64_t now_ms_ = 0;
};

}  // namespace h2server::http::h2
