// Which stream's DATA goes next (RFC 9218). The priorities of RFC 7540 are not heeded.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "http/h2/transfer.h"

namespace h2server::http::h2 {

// The value of the field Priority or of a PRIORITY_UPDATE: a dictionary (RFC 8941, 3.2). What is no
// parameter of RFC 9218, or out of range, is ignored.
[[nodiscard]] Priority parse_priority(std::string_view value) noexcept;

// The streams that have something to send and may: a queue for each urgency. At its front one that
// is not incremental stays until it is done; one that is goes to the back after a frame.
class Scheduler {
 public:
  void add(Transfer& transfer) noexcept;
  void remove(Transfer& transfer) noexcept;
  // Null: none.
  [[nodiscard]] Transfer* first() const noexcept;
  // It has sent a frame.
  void took_turn(Transfer& transfer) noexcept;

 private:
  std::array<Transfer*, Priority::urgencies> fronts_{};  // each of a ring, or null
  std::uint8_t waiting_ = 0;                             // a bit for each queue that is not empty
};

}  // namespace h2server::http::h2
