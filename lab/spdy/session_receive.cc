// SpdySession: what the client sends, and the errors in it (SPDY, 2.4).
#include <utility>

#include "spdy/session.h"

namespace h2server::lab::spdy {

namespace {

// Reused by all sessions of the thread; valid until the next block.
struct Scratch {
  std::string block;
  std::vector<Field> pairs;
};
Scratch& scratch() {
  thread_local Scratch made;
  return made;
}

}  // namespace

bool SpdySession::on_frame(FrameReader::Step step, h2::SessionEvent& event) {
  const FrameHead& head = reader_.head();
  const bool begins = !std::exchange(begun_, true);
  // A client that begins with a data frame speaks another protocol.
  const bool foreign = head.is_control ? head.version != version : begins || head.stream == 0;
  // A control frame that is too large can't be skipped: later blocks depend on it.
  if (foreign || step == FrameReader::Step::too_large) {
    fail(h2::ErrorCode::protocol_error);
    return false;
  }
  if (step == FrameReader::Step::control) return on_control(event);
  return step == FrameReader::Step::data ? on_data(event) : on_data_end(event);
}

bool SpdySession::on_control(h2::SessionEvent& event) {
  const std::string_view payload = reader_.bytes();
  switch (reader_.head().type) {
    case FrameType::syn_stream:
      return on_syn_stream(payload, event);
    case FrameType::headers:
      return on_headers(payload, event);
    case FrameType::rst_stream:
      on_rst_stream(payload);
      return false;
    case FrameType::settings:
      on_settings(payload);
      return false;
    case FrameType::ping:
      on_ping(payload);
      return false;
    case FrameType::goaway:
      on_goaway(payload);
      return false;
    case FrameType::window_update:
      on_window_update(payload);
      return false;
    case FrameType::syn_reply:  // this side opens no streams
      fail(h2::ErrorCode::protocol_error);
      return false;
  }
  count_idle_frame();  // SPDY, 2.2.1: unknown types are ignored
  return false;
}

void SpdySession::count_idle_frame() {
  if (!guard_.allow_idle_frame()) fail(h2::ErrorCode::enhance_your_calm);
}

// Of a stream that the client resets, or makes this side reset.
void SpdySession::count_reset() {
  if (!guard_.allow_reset()) fail(h2::ErrorCode::enhance_your_calm);
}

// What follows on the stream is ignored (SPDY, 2.4.2), even if the client has ended its side.
void SpdySession::reset_for_violation(H2Exchange& exchange, StreamStatus status) {
  streams_.mark_reset(exchange.id);
  reset_with(exchange, status);
  count_reset();
}

// Resets a stream that has no exchange.
void SpdySession::refuse(std::uint32_t id, StreamStatus status) {
  append_rst_stream(out_, id, status);
  streams_.mark_reset(id);
  count_reset();
}

// A frame has arrived for a stream that is not open (SPDY, 2.3.7 and 2.6.3).
void SpdySession::on_unknown_stream(std::uint32_t id) {
  if (id > last_served_) {  // SPDY, 2.6.6: the client has not read the GOAWAY yet
    count_idle_frame();
    return;
  }
  switch (streams_.past(id)) {
    case h2::Streams::Past::idle:
    case h2::Streams::Past::skipped:
      append_rst_stream(out_, id, StreamStatus::invalid_stream);
      count_reset();
      return;
    case h2::Streams::Past::ended:
      refuse(id, StreamStatus::protocol_error);
      return;
    case h2::Streams::Past::reset:  // SPDY, 2.4.2: once is enough
    case h2::Streams::Past::forgotten:
      count_idle_frame();
      return;
  }
}

// --- data -------------------------------------------------------------------------------------

// SPDY, 2.6.8: what arrives counts for the connection's window, even on closed streams.
bool SpdySession::on_data(h2::SessionEvent& event) {
  const std::string_view bytes = reader_.bytes();
  const auto size = static_cast<std::uint32_t>(bytes.size());
  if (!window_.take(size)) {
    fail(h2::ErrorCode::flow_control_error);
    return false;
  }
  H2Exchange* const exchange = streams_.find(reader_.head().stream);
  if (exchange != nullptr) {
    h2::Stream& stream = exchange->stream;
    if (!stream.takes_content()) {  // 2.3.6
      reset_for_violation(*exchange, StreamStatus::stream_already_closed);
    } else if (!stream.receive.take(size)) {
      reset_for_violation(*exchange, StreamStatus::flow_control_error);
    } else if (stream.sized && size > stream.content_left) {
      reset_for_violation(*exchange, StreamStatus::protocol_error);
    } else {
      stream.content_left -= stream.sized ? size : 0;
      event = {h2::SessionEvent::Kind::data, exchange, bytes};
      return true;
    }
  }
  release(nullptr, size);
  return false;
}

bool SpdySession::on_data_end(h2::SessionEvent& event) {
  const FrameHead& head = reader_.head();
  H2Exchange* const exchange = streams_.find(head.stream);
  if (exchange == nullptr) {
    on_unknown_stream(head.stream);
    return false;
  }
  if (!exchange->stream.takes_content()) {
    reset_for_violation(*exchange, StreamStatus::stream_already_closed);
    return false;
  }
  if (head.has(flag::fin)) return on_stream_end(*exchange, event);
  if (head.size == 0) count_idle_frame();
  return false;
}

// The client has ended its side. SPDY, 3.2.1 wants the answer 400 if its content does not have the
// declared length, but a handler has the request already.
bool SpdySession::on_stream_end(H2Exchange& exchange, h2::SessionEvent& event) {
  h2::Stream& stream = exchange.stream;
  if (stream.sized && stream.content_left > 0) {
    stream.state = h2::Stream::State::half_closed_remote;
    reset_for_violation(exchange, StreamStatus::protocol_error);
    return false;
  }
  exchange.session.ended = true;
  if (stream.state == h2::Stream::State::half_closed_local) {
    drop(exchange);  // already answered: the event `closed` suffices
    return false;
  }
  stream.state = h2::Stream::State::half_closed_remote;
  event = {h2::SessionEvent::Kind::ended, &exchange};
  return true;
}

// --- header blocks ----------------------------------------------------------------------------

// Every block passes through the decompressor, also that of a stream which is refused
// (SPDY, 2.4.1). Returns false if the session has failed.
bool SpdySession::decompress(std::string_view block) {
  const std::size_t bytes_max = 4 * limits_.head_bytes_max;  // beyond it, it must be an attack
  switch (decompressor_.decompress(block, bytes_max, scratch().block)) {
    case Decompressor::Verdict::good:
      return true;
    case Decompressor::Verdict::malformed:
      fail(h2::ErrorCode::compression_error);
      return false;
    case Decompressor::Verdict::too_large:
      fail(h2::ErrorCode::enhance_your_calm);
      return false;
  }
  return false;
}

// SPDY, 2.6.1 and 2.3.2.
bool SpdySession::on_syn_stream(std::string_view payload, h2::SessionEvent& event) {
  constexpr std::size_t fixed_bytes = 10;
  const std::uint32_t id = payload.size() < fixed_bytes ? 0 : read_u31(payload.data());
  H2Exchange* const twice = streams_.find(id);
  // Clients use odd identifiers, each higher than the one before.
  if (id % 2 == 0 || (id <= streams_.last_id() && twice == nullptr)) {
    fail(h2::ErrorCode::protocol_error);
    return false;
  }
  const bool associated = read_u31(payload.data() + 4) != 0;
  const auto urgency = static_cast<std::uint8_t>(static_cast<unsigned char>(payload[8]) >> 5);
  if (!decompress(payload.substr(fixed_bytes))) return false;
  if (twice != nullptr) {
    reset_for_violation(*twice, StreamStatus::protocol_error);
    return false;
  }
  streams_.use(id);
  if (id > last_served_) {  // SPDY, 2.6.6
    count_idle_frame();
    return false;
  }
  guard_.credit_stream();
  if (streams_.alive() >= limits_.streams_max) {
    refuse(id, StreamStatus::refused_stream);
    return false;
  }
  // A client can't push, and a request that may not be answered is none.
  if (associated || reader_.head().has(flag::unidirectional)) {
    refuse(id, StreamStatus::protocol_error);
    return false;
  }
  return open(id, {.urgency = urgency, .incremental = true}, event);
}

// Opens a stream for the request whose block is decompressed.
bool SpdySession::open(std::uint32_t id, h2::Priority priority, h2::SessionEvent& event) {
  if (!read_block(scratch().block, scratch().pairs)) {
    refuse(id, StreamStatus::protocol_error);
    return false;
  }
  H2Exchange& exchange = streams_.open(id);
  h2::Stream& stream = exchange.stream;
  exchange.head.version = Version::http_2;  // for handlers, which see no other difference
  stream.send = h2::SendWindow(initial_window_);
  stream.receive = h2::ReceiveWindow(stream_window_bytes());
  builder_.begin_head(exchange);
  HeadVerdict verdict = read_head(scratch().pairs, builder_);
  stream.priority = priority;
  stream.sized = exchange.head.content_length.has_value();
  stream.content_left = exchange.head.content_length.value_or(0);
  const bool ends = reader_.head().has(flag::fin);
  if (ends && stream.content_left > 0) verdict = HeadVerdict::incomplete;  // 3.2.1: 400, too
  switch (verdict) {
    case HeadVerdict::good:
      break;
    case HeadVerdict::incomplete:
      answer_bad_request(exchange);
      return false;
    case HeadVerdict::malformed:
      reset_for_violation(exchange, StreamStatus::protocol_error);
      return false;
    case HeadVerdict::flood:
      streams_.close(exchange);
      fail(h2::ErrorCode::enhance_your_calm);
      return false;
  }
  if (ends) {
    stream.state = h2::Stream::State::half_closed_remote;
    exchange.session.ended = true;
  }
  stream.announced = true;
  event = {h2::SessionEvent::Kind::request, &exchange};
  return true;
}

// SPDY, 3.2.1. Content that follows is ignored.
void SpdySession::answer_bad_request(H2Exchange& exchange) {
  constexpr std::array<Field, 3> fields = {
      {{":status", "400"}, {"server", "h2server"}, {":version", "HTTP/1.1"}}};
  append_fields(FrameType::syn_reply, exchange.id, fields, true);
  streams_.mark_reset(exchange.id);
  drop(exchange);
  count_reset();
}

// SPDY, 2.6.7: of a request, trailer fields in one or several frames.
bool SpdySession::on_headers(std::string_view payload, h2::SessionEvent& event) {
  constexpr std::size_t fixed_bytes = 4;
  const std::uint32_t id = payload.size() < fixed_bytes ? 0 : read_u31(payload.data());
  if (id == 0) {
    fail(h2::ErrorCode::protocol_error);
    return false;
  }
  if (!decompress(payload.substr(fixed_bytes))) return false;
  H2Exchange* const exchange = streams_.find(id);
  if (exchange == nullptr) {
    on_unknown_stream(id);
    return false;
  }
  if (!exchange->stream.takes_content()) {
    reset_for_violation(*exchange, StreamStatus::stream_already_closed);
    return false;
  }
  builder_.begin_trailers(*exchange);
  const bool good = read_block(scratch().block, scratch().pairs) &&
                    read_trailers(scratch().pairs, builder_) == HeadVerdict::good;
  if (!good) {
    reset_for_violation(*exchange, StreamStatus::protocol_error);
    return false;
  }
  if (reader_.head().has(flag::fin)) return on_stream_end(*exchange, event);
  count_idle_frame();
  return false;
}

// --- other control frames ---------------------------------------------------------------------

// SPDY, 2.6.3. It is never answered with another one.
void SpdySession::on_rst_stream(std::string_view payload) {
  const std::uint32_t id = payload.size() != 8 ? 0 : read_u31(payload.data());
  if (id == 0) {
    fail(h2::ErrorCode::protocol_error);
    return;
  }
  H2Exchange* const exchange = streams_.find(id);
  if (exchange == nullptr) {
    count_idle_frame();
    return;
  }
  drop(*exchange);
  count_reset();
}

// SPDY, 2.6.4.
void SpdySession::on_settings(std::string_view payload) {
  bool legal = true;
  const bool whole = read_settings(payload, [&](Setting setting, std::uint32_t value) {
    if (setting != Setting::initial_window_size) return;  // this side opens no streams
    legal = value <= largest_window_bytes;
    if (legal) set_initial_window(value);
  });
  if (!whole) fail(h2::ErrorCode::protocol_error);
  if (!legal) fail(h2::ErrorCode::flow_control_error);
  count_idle_frame();
}

// SPDY, 2.6.5: even numbers are this side's.
void SpdySession::on_ping(std::string_view payload) {
  if (payload.size() != 4) {
    fail(h2::ErrorCode::protocol_error);
    return;
  }
  const std::uint32_t id = read_u32(payload.data());
  if (id % 2 == 1) append_ping(out_, id);
  if (id == drain_ping) awaits_pong_ = false;
  count_idle_frame();
}

// SPDY, 2.6.6: the client opens no more streams; open ones continue.
void SpdySession::on_goaway(std::string_view payload) {
  if (payload.size() != 8) {
    fail(h2::ErrorCode::protocol_error);
    return;
  }
  peer_goes_ = true;
  count_idle_frame();
}

// SPDY, 2.6.8.
void SpdySession::on_window_update(std::string_view payload) {
  if (payload.size() != 8) {
    fail(h2::ErrorCode::protocol_error);
    return;
  }
  const std::uint32_t id = read_u31(payload.data());
  const std::uint32_t delta = read_u31(payload.data() + 4);
  if (id == 0) {
    if (delta == 0) fail(h2::ErrorCode::protocol_error);
    if (!send_window_.add(delta)) fail(h2::ErrorCode::flow_control_error);
    return;
  }
  H2Exchange* const exchange = streams_.find(id);
  if (exchange == nullptr) {  // it may cross the end of the stream
    count_idle_frame();
    return;
  }
  if (delta == 0) {
    reset_for_violation(*exchange, StreamStatus::protocol_error);
    return;
  }
  if (!exchange->stream.send.add(delta)) {
    reset_for_violation(*exchange, StreamStatus::flow_control_error);
    return;
  }
  schedule(*exchange);
}

}  // namespace h2server::lab::spdy
