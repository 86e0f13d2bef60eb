// Auto-tuning of receive windows, whose size RFC 9113, 5.2.1 leaves to the receiver: measures what
// arrives in a round trip and sizes the windows for it.
//
// A PING leaves with a WINDOW_UPDATE. The bytes that arrive until its answer, plus those that
// waited for a handler when it left, are the content of one round trip. A window that is announced
// in halves must be twice that content to never block the peer. It grows if it is smaller than
// three times that content, while handlers keep up and the server's budget lasts. It never
// shrinks: the peer may use what it was given at any time.
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>

#include "h2server/limits.h"
#include "http/window_budget.h"

namespace h2server::http::h2 {

class WindowGrowth {
 public:
  // Both must outlive this object. Without a `budget` the windows do not grow.
  WindowGrowth(const Limits& limits, WindowBudget* budget) noexcept
      : limits_(limits),
        budget_(budget),
        stream_bytes_(static_cast<std::uint32_t>(limits.stream_window_bytes)) {}
  WindowGrowth(const WindowGrowth&) = delete;
  WindowGrowth& operator=(const WindowGrowth&) = delete;
  ~WindowGrowth() {
    if (taken_ > 0) budget_->give_back(taken_);
  }

  // Current sizes of the window of a stream and of the connection.
  [[nodiscard]] std::uint32_t stream_bytes() const noexcept { return stream_bytes_; }
  [[nodiscard]] std::uint32_t connection_bytes() const noexcept {
    return static_cast<std::uint32_t>(limits_.connection_window_bytes) + taken_;
  }

  void arrived(std::uint32_t bytes) noexcept { sample_ += bytes; }
  // Called when a WINDOW_UPDATE leaves while `unread` bytes of the connection wait for handlers.
  // Returns true if a PING must be sent too.
  [[nodiscard]] bool begin(std::uint32_t unread) noexcept {
    if (measuring_ || budget_ == nullptr || stream_bytes_ >= largest()) return false;
    measuring_ = true;
    sample_ = unread;
    return true;
  }
  // Called when the PING is answered. Returns true if the windows have grown. Unread content of a
  // single stream is enough to prevent growth.
  [[nodiscard]] bool end(std::uint32_t unread) noexcept {
    if (!std::exchange(measuring_, false)) return false;
    if (sample_ < stream_bytes_ / 3 || unread > stream_bytes_ / 4) return false;
    // A sender in slow start grows by this factor in two round trips.
    const std::uint32_t wider = std::min(stream_bytes_ * 4, largest());
    const std::uint32_t more = 2 * (wider - stream_bytes_);  // the connection grows twice as much
    if (!budget_->take(more)) return false;
    taken_ += more;
    stream_bytes_ = wider;
    return true;
  }

 private:
  [[nodiscard]] std::uint32_t largest() const noexcept {
    return static_cast<std::uint32_t>(limits_.stream_window_bytes_max);
  }

  const Limits& limits_;
  WindowBudget* const budget_;
  std::uint32_t stream_bytes_;
  std::uint32_t taken_ = 0;   // from the budget: growth of the connection's window
  std::uint32_t sample_ = 0;  // bytes of the round trip being measured
  bool measuring_ = false;    // the PING is in flight
};

}  // namespace h2server::http::h2
