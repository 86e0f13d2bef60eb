// Sizes of the receive windows, which RFC 9113, 5.2.1 leaves to the receiver. They begin with those
// of Limits and grow, within the server's budget, in two ways.
//
// In advance: when a handler begins to read an upload, the windows are opened for its content, so
// that it needs no round trips for announcements.
//
// By measurement: a PING leaves with a WINDOW_UPDATE. The bytes that arrive until its answer, plus
// those that waited for a handler when it left, are the content of one round trip. A window must be
// twice that content to never block a sender in slow start. It grows if it is smaller than three
// times that content, while handlers keep up.
//
// The connection's window grows as much as a stream's. The peer may use at any time what it was
// given; growth is taken back by not announcing what was consumed: once the rest of the content
// fits, or if handlers lag. One for each connection.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>

#include "h2server/limits.h"
#include "http/h2/protocol.h"
#include "http/h2/stream.h"
#include "http/window_budget.h"

namespace h2server::http::h2 {

// Returns how much content is still to come on a stream that takes it. Without a Content-Length it
// may be any number.
[[nodiscard]] inline std::uint64_t content_to_come(const Stream& stream) noexcept {
  return stream.sized ? stream.content_left : largest_window_bytes;
}

// Payload of the PING.
inline constexpr std::string_view growth_ping = "windows?";

class WindowGrowth {
 public:
  // Both must outlive this object. Without a `budget` the windows do not grow.
  WindowGrowth(const Limits& limits, WindowBudget* budget) noexcept
      : limits_(limits), budget_(budget) {}
  WindowGrowth(const WindowGrowth&) = delete;
  WindowGrowth& operator=(const WindowGrowth&) = delete;
  ~WindowGrowth() {
    if (gained_ > 0) budget_->give_back(gained_);
  }

  // Current sizes of the window of a stream and of the connection.
  [[nodiscard]] std::uint32_t stream_bytes() const noexcept {
    return static_cast<std::uint32_t>(limits_.stream_window_bytes) + gained_;
  }
  [[nodiscard]] std::uint32_t connection_bytes() const noexcept {
    return static_cast<std::uint32_t>(limits_.connection_window_bytes) + gained_;
  }
  // Growth of the connection's window so far, which is taken from the budget.
  [[nodiscard]] std::uint32_t gained() const noexcept { return gained_; }

  // Called when a handler begins to read an upload of `content` bytes, or of an unknown number.
  // Returns true if the windows have grown.
  [[nodiscard]] bool begin_upload(std::optional<std::uint64_t> content) noexcept {
    if (budget_ == nullptr) return false;
    const std::uint32_t more = growth_to(content.value_or(next_stream_bytes()));
    return grow(budget_->take_ahead(more));
  }
  // Called when the connection's window was made smaller by `bytes`, at most gained().
  void shrink(std::uint32_t bytes) noexcept {
    if (bytes == 0) return;
    gained_ -= bytes;
    budget_->give_back(bytes);
  }

  // Called when consumed bytes are to be announced while `unread` bytes of the connection wait for
  // handlers. Returns true if more than a quarter of the window stayed unread for three seconds: a
  // smaller one would not slow the handlers, and less would wait in memory.
  [[nodiscard]] bool handlers_lag(std::uint32_t unread, std::int64_t now_ms) noexcept {
    constexpr std::uint32_t lag_ms_max = 3000;  // many round trips: a burst is no lag
    if (gained_ == 0 || unread <= connection_bytes() / 4) {
      lags_ = false;
      return false;
    }
    const auto now = static_cast<std::uint32_t>(now_ms);  // may wrap around
    if (!std::exchange(lags_, true)) lags_from_ms_ = now;
    return now - lags_from_ms_ >= lag_ms_max;
  }

  void arrived(std::uint32_t bytes) noexcept { sample_ += bytes; }
  // Called when a WINDOW_UPDATE leaves while `unread` bytes of the connection wait for handlers.
  // Returns true if a PING must be sent too.
  [[nodiscard]] bool begin(std::uint32_t unread) noexcept {
    if (measuring_ || budget_ == nullptr || stream_bytes() >= largest()) return false;
    measuring_ = true;
    sample_ = unread;
    return true;
  }
  // Called when the PING is answered, while the content that is still to come exceeds the
  // connection's window by `missing` bytes. Returns true if the windows have grown, by no more.
  // Unread content of a single stream is enough to prevent growth.
  [[nodiscard]] bool end(std::uint32_t unread, std::uint64_t missing) noexcept {
    if (!std::exchange(measuring_, false)) return false;
    if (sample_ < stream_bytes() / 3 || unread > stream_bytes() / 4) return false;
    const std::uint32_t more = growth_to(std::min(next_stream_bytes(), stream_bytes() + missing));
    return grow(budget_->take(more));
  }

 private:
  // A sender in slow start grows by this factor in two round trips.
  [[nodiscard]] std::uint64_t next_stream_bytes() const noexcept {
    return std::uint64_t{4} * stream_bytes();
  }
  // The connection's window stays within 31 bits (RFC 9113, 6.9.1).
  [[nodiscard]] std::uint32_t largest() const noexcept {
    const std::uint32_t room = largest_window_bytes - connection_bytes();
    return std::min(static_cast<std::uint32_t>(limits_.stream_window_bytes_max),
                    stream_bytes() + room);
  }
  // Returns by how much a stream's window may grow to have `bytes`.
  [[nodiscard]] std::uint32_t growth_to(std::uint64_t bytes) const noexcept {
    const std::uint64_t wider = std::min<std::uint64_t>(bytes, largest());
    return wider > stream_bytes() ? static_cast<std::uint32_t>(wider) - stream_bytes() : 0;
  }
  bool grow(std::uint32_t bytes) noexcept {
    gained_ += bytes;
    return bytes > 0;
  }

  const Limits& limits_;
  WindowBudget* const budget_;
  std::uint32_t gained_ = 0;
  std::uint32_t lags_from_ms_ = 0;
  std::uint32_t sample_ = 0;  // bytes of the round trip being measured
  bool measuring_ = false;    // the PING is in flight
  bool lags_ = false;         // more than a quarter of the window is unread
};

}  // namespace h2server::http::h2
