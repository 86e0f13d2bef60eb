// IncomingContent: what libnghttp2 does not tell of the content of requests: how much is still to
// come and how much waits for handlers. Decides by that how wide the receive windows are, as the
// native session does; the session applies it. One for each connection.
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>

#include "http/h2/h2_exchange.h"
#include "http/h2/window_growth.h"

namespace h2server::http::h2 {

class IncomingContent {
 public:
  // Both must outlive this object. Without a `budget` the windows do not grow.
  IncomingContent(const Limits& limits, WindowBudget* budget) noexcept
      : first_stream_bytes_(static_cast<std::uint32_t>(limits.stream_window_bytes)),
        growth_(limits, budget) {}

  // Sets the time of the calls that follow; monotonic.
  void set_time(std::int64_t now_ms) noexcept { now_ms_ = now_ms; }

  // Called when a head has arrived whose content follows, and when that has ended, which may be
  // called again.
  void begin(H2Exchange& exchange) noexcept {
    Stream& stream = exchange.stream;
    stream.state = Stream::State::open;
    stream.sized = exchange.head.content_length.has_value();
    stream.content_left = exchange.head.content_length.value_or(0);
    to_come_ += content_to_come(stream);
  }
  void end(H2Exchange& exchange) noexcept {
    if (!exchange.stream.takes_content()) return;
    exchange.stream.state = Stream::State::half_closed_remote;
    to_come_ -= content_to_come(exchange.stream);
  }
  // The library refuses more content than the Content-Length.
  void arrived(H2Exchange& exchange, std::uint32_t bytes) noexcept {
    unread_ += bytes;
    growth_.arrived(bytes);
    if (!exchange.stream.sized) return;
    exchange.stream.content_left -= bytes;
    to_come_ -= bytes;
  }

  // Called with consumed bytes and what the client may still send on the connection. Returns how
  // many of the bytes must not be announced: growth is taken back if handlers lag, or if the window
  // allows all that is still to come.
  [[nodiscard]] std::uint32_t consume(std::uint32_t bytes, std::int32_t connection_left) noexcept {
    unread_ -= bytes;
    unmeasured_ += bytes;
    const bool fits = missing(connection_left) == 0;
    if (!growth_.handlers_lag(unread_, now_ms_) && !fits) return 0;
    const std::uint32_t kept = std::min(bytes, growth_.gained());
    growth_.shrink(kept);
    return kept;
  }
  // Called when a handler has read content of an upload and what the client may still send on its
  // stream does not suffice. Returns true if the connection's window has grown.
  [[nodiscard]] bool begin_upload(H2Exchange& exchange) noexcept {
    return !std::exchange(exchange.stream.read, true) &&
           growth_.begin_upload(exchange.head.content_length);
  }
  // Called when content is consumed and what the client may still send on its stream does not
  // suffice. Returns true if a PING must be sent.
  [[nodiscard]] bool measure() noexcept {
    if (unmeasured_ < first_stream_bytes_ / 2 || !growth_.begin(unread_)) return false;
    unmeasured_ = 0;
    return true;
  }
  // Called when the PING is answered. Returns true if the connection's window has grown.
  [[nodiscard]] bool end_measurement(std::int32_t connection_left) noexcept {
    return growth_.end(unread_, missing(connection_left));
  }

  [[nodiscard]] std::uint32_t unread() const noexcept { return unread_; }
  [[nodiscard]] std::int32_t stream_bytes() const noexcept {
    return static_cast<std::int32_t>(growth_.stream_bytes());
  }
  [[nodiscard]] std::int32_t connection_bytes() const noexcept {
    return static_cast<std::int32_t>(growth_.connection_bytes());
  }

 private:
  // Returns by how much the content that is still to come exceeds what the client may send.
  [[nodiscard]] std::uint64_t missing(std::int32_t connection_left) const noexcept {
    return to_come_ - std::min(to_come_, static_cast<std::uint64_t>(std::max(connection_left, 0)));
  }

  const std::uint32_t first_stream_bytes_;
  WindowGrowth growth_;
  std::int64_t now_ms_ = 0;
  std::uint64_t to_come_ = 0;     // content that has not arrived, on all streams
  std::uint32_t unread_ = 0;      // content that is not consumed
  std::uint32_t unmeasured_ = 0;  // consumed since the last PING
};

}  // namespace h2server::http::h2
