// Scheduling of DATA by priority (RFC 9218). The priorities of RFC 7540 are ignored.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "http/h2/h2_exchange.h"
#include "http/h2/protocol.h"

namespace h2server::http::h2 {

// Parses the value of a Priority field or of a PRIORITY_UPDATE, a dictionary (RFC 8941, 3.2).
// Ignores keys that RFC 9218 does not define, and values out of range.
[[nodiscard]] Priority parse_priority(std::string_view value) noexcept;

// Scheduler: the streams that have something to send and may send it, in a queue for each urgency.
// A non-incremental stream stays at the front until it is done. An incremental one moves to the
// back after a turn, which is a frame's worth of bytes: frames that are cut to a window or to the
// room in the output would give some streams less than others.
class Scheduler {
 public:
  void add(H2Exchange& exchange) noexcept;
  void remove(H2Exchange& exchange) noexcept;
  // Returns the stream that sends next, or null if there is none.
  [[nodiscard]] H2Exchange* first() const noexcept;
  // Returns how many bytes the stream may send at once.
  [[nodiscard]] static std::uint32_t turn_left(const H2Exchange& exchange) noexcept {
    return turn_bytes - exchange.stream.turn_used;
  }
  // Called after the stream has sent a frame with so many bytes, at most turn_left().
  void sent(H2Exchange& exchange, std::uint32_t bytes) noexcept;

 private:
  static constexpr std::uint32_t turn_bytes = default_frame_bytes;

  std::array<H2Exchange*, Priority::urgencies> fronts_{};  // the first of each ring, or null
  std::uint8_t waiting_ = 0;                               // a bit for each queue that is not empty
};

}  // namespace h2server::http::h2
