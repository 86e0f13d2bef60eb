#include "spdy/session.h"

#include <algorithm>
#include <array>
#include <utility>

namespace h2server::lab::spdy {

namespace {

// SPDY has fewer codes, and none for a stream that ends without an error.
StreamStatus stream_status(h2::ErrorCode code) noexcept {
  switch (code) {
    case h2::ErrorCode::no_error:
    case h2::ErrorCode::cancel:
      return StreamStatus::cancel;
    case h2::ErrorCode::internal_error:
      return StreamStatus::internal_error;
    case h2::ErrorCode::flow_control_error:
      return StreamStatus::flow_control_error;
    case h2::ErrorCode::stream_closed:
      return StreamStatus::stream_already_closed;
    case h2::ErrorCode::frame_size_error:
      return StreamStatus::frame_too_large;
    case h2::ErrorCode::refused_stream:
      return StreamStatus::refused_stream;
    case h2::ErrorCode::protocol_error:
    case h2::ErrorCode::settings_timeout:
    case h2::ErrorCode::compression_error:
    case h2::ErrorCode::connect_error:
    case h2::ErrorCode::enhance_your_calm:
    case h2::ErrorCode::inadequate_security:
    case h2::ErrorCode::http_1_1_required:
      break;
  }
  return StreamStatus::protocol_error;
}

SessionStatus session_status(h2::ErrorCode code) noexcept {
  if (code == h2::ErrorCode::no_error) return SessionStatus::ok;
  if (code == h2::ErrorCode::internal_error) return SessionStatus::internal_error;
  if (code == h2::ErrorCode::flow_control_error) return SessionStatus::flow_control_error;
  return SessionStatus::protocol_error;
}

}  // namespace

SpdySession::SpdySession(const Limits& limits, base::Pool<H2Exchange>& exchanges)
    : limits_(limits),
      streams_(exchanges),
      reader_(std::max<std::size_t>(smallest_control_bytes_max, 2 * limits.head_bytes_max)),
      builder_(limits),
      guard_(limits) {
  const std::array<SettingLine, 2> lines = {{
      {Setting::max_concurrent_streams, limits_.streams_max},
      {Setting::initial_window_size, stream_window_bytes()},
  }};
  append_settings(out_, lines);
  const std::uint32_t delta =
      window_.grow_to(static_cast<std::uint32_t>(limits_.connection_window_bytes));
  if (delta > 0) append_window_update(out_, 0, delta);
}

// A smaller window than the default could not be relied on: nothing shows when the client has read
// the SETTINGS.
std::uint32_t SpdySession::stream_window_bytes() const noexcept {
  return std::max(static_cast<std::uint32_t>(limits_.stream_window_bytes), default_window_bytes);
}

void SpdySession::receive(std::string_view bytes, std::int64_t now_ms) {
  reader_.add(bytes);
  guard_.set_time(now_ms);
}

bool SpdySession::next(h2::SessionEvent& event) {
  if (streams_.next_notification(event)) return true;
  while (!failed_ && !streams_.has_notifications()) {
    const FrameReader::Step step = reader_.next();
    if (step == FrameReader::Step::none) break;
    if (on_frame(step, event)) return true;
  }
  if (out_.size() > limits_.unread_bytes_max) fail(h2::ErrorCode::enhance_your_calm);
  return streams_.next_notification(event);
}

bool SpdySession::finished() const noexcept {
  const bool goes_away = peer_goes_ || last_served_ != largest_stream;
  return failed_ || (goes_away && !awaits_pong_ && streams_.alive() == 0);
}

// Closing the connection at once could destroy the GOAWAY on its way, if the client sends
// meanwhile. The answer to the PING shows that it has arrived.
void SpdySession::drain() {
  if (failed_ || std::exchange(draining_, true)) return;
  go_away(streams_.last_id());
  append_ping(out_, drain_ping);
  awaits_pong_ = true;
  guard_.credit_ping();
}

// SPDY, 2.4.1.
void SpdySession::fail(h2::ErrorCode code) {
  if (std::exchange(failed_, true)) return;
  error_ = code;
  append_goaway(out_, std::min(last_served_, streams_.last_id()), session_status(code));
}

// SPDY, 2.6.6. The last stream never becomes a later one.
void SpdySession::go_away(std::uint32_t last_stream) {
  if (failed_ || last_stream >= last_served_) return;
  last_served_ = last_stream;
  append_goaway(out_, last_stream, SessionStatus::ok);
}

void SpdySession::consume(H2Exchange& exchange, std::size_t bytes, http::h2::Consumed) {
  release(&exchange, static_cast<std::uint32_t>(bytes));
}

// Gives the client's windows back what was consumed, or dropped without an exchange.
void SpdySession::release(H2Exchange* exchange, std::uint32_t bytes) {
  const std::uint32_t of_connection = window_.give_back(bytes);
  if (of_connection > 0) append_window_update(out_, 0, of_connection);
  if (exchange == nullptr || !exchange->stream.takes_content()) return;
  const std::uint32_t of_stream = exchange->stream.receive.give_back(bytes);
  if (of_stream > 0) append_window_update(out_, exchange->id, of_stream);
}

void SpdySession::reset(H2Exchange& exchange, h2::ErrorCode code) {
  reset_with(exchange, stream_status(code));
}

void SpdySession::reset_with(H2Exchange& exchange, StreamStatus status) {
  if (exchange.stream.state == h2::Stream::State::closed) return;
  exchange.session.reset = true;
  append_rst_stream(out_, exchange.id, status);
  // Only a client that has not ended its side may have sent more meanwhile.
  if (exchange.stream.takes_content()) streams_.mark_reset(exchange.id);
  drop(exchange);
}

// Closes the stream without sending a frame.
void SpdySession::drop(H2Exchange& exchange) {
  exchange.stream.has_body = false;
  scheduler_.remove(exchange);
  streams_.close(exchange);
}

std::unique_ptr<h2::Session> make_spdy_session(const Limits& limits,
                                               base::Pool<H2Exchange>& exchanges,
                                               http::WindowBudget*) {
  return std::make_unique<SpdySession>(limits, exchanges);
}

}  // namespace h2server::lab::spdy
