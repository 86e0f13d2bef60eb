// How wide receive windows are to be, which RFC 9113, 5.2.1 leaves to the receiver: what a round
// trip brings, measured, and room to spare.
//
// With an announcement of window leaves a PING; what arrives until its answer, and what waited for
// a handler then, is a round trip's content. A window that is announced in halves has to be twice
// that if it is never to hold the peer up; where it is less than three times that, it grows. It
// does so while handlers keep up and while the process's budget lasts, and never shrinks: the peer
// may use what it was given at any time.
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>

#include "http/limits.h"
#include "http/window_budget.h"

namespace h2server::http::h2 {

class WindowGrowth {
 public:
  // Both outlive it. `budget` null: windows stay as they are.
  WindowGrowth(const Limits& limits, WindowBudget* budget) noexcept
      : limits_(limits),
        budget_(budget),
        stream_bytes_(static_cast<std::uint32_t>(limits.stream_window_bytes)) {}
  WindowGrowth(const WindowGrowth&) = delete;
  WindowGrowth& operator=(const WindowGrowth&) = delete;
  ~WindowGrowth() {
    if (taken_ > 0) budget_->give_back(taken_);
  }

  // The windows that streams have, and the connection.
  [[nodiscard]] std::uint32_t stream_bytes() const noexcept { return stream_bytes_; }
  [[nodiscard]] std::uint32_t connection_bytes() const noexcept {
    return static_cast<std::uint32_t>(limits_.connection_window_bytes) + taken_;
  }

  void arrived(std::uint32_t bytes) noexcept { sample_ += bytes; }
  // An announcement leaves while `unread` bytes of the connection wait for handlers. True: and so
  // does a PING.
  [[nodiscard]] bool begin(std::uint32_t unread) noexcept {
    if (measuring_ || budget_ == nullptr || stream_bytes_ >= largest()) return false;
    measuring_ = true;
    sample_ = unread;
    return true;
  }
  // The PING was answered. True: the windows are wider now. One stream that nobody reads keeps all
  // windows as they are.
  [[nodiscard]] bool end(std::uint32_t unread) noexcept {
    if (!std::exchange(measuring_, false)) return false;
    if (sample_ < stream_bytes_ / 3 || unread > stream_bytes_ / 4) return false;
    // By as much as a sender in slow start gains in two round trips.
    const std::uint32_t wider = std::min(stream_bytes_ * 4, largest());
    const std::uint32_t more = 2 * (wider - stream_bytes_);  // the connection has room for two
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
  std::uint32_t taken_ = 0;   // of the budget: by how much the connection's window has grown
  std::uint32_t sample_ = 0;  // bytes since the PING left
  bool measuring_ = false;    // it was not answered yet
};

}  // namespace h2server::http::h2
