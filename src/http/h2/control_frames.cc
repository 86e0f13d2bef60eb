// FrameReceiver: the frames that carry neither fields nor content (RFC 9113, 6.3 to 6.9).
#include <algorithm>
#include <optional>

#include "http/h2/frame_receiver.h"
#include "http/h2/priority.h"

namespace h2server::http::h2 {

namespace {

// Payload of a PING of ours and of its answer, 8 bytes (RFC 9113, 6.7).
constexpr std::string_view drain_ping = "draining";

}  // namespace

bool FrameReceiver::on_other(std::string_view payload) {
  switch (frame_.type) {
    case FrameType::priority:
      return on_priority(payload);
    case FrameType::rst_stream:
      return on_rst_stream(payload);
    case FrameType::settings:
      return on_settings(payload);
    case FrameType::ping:
      return on_ping(payload);
    case FrameType::goaway:
      return on_goaway(payload);
    case FrameType::window_update:
      return on_window_update(payload);
    case FrameType::priority_update:
      return on_priority_update(payload);
    case FrameType::push_promise:  // 8.4: a client can't push
    case FrameType::data:
    case FrameType::headers:
    case FrameType::continuation:
      break;
  }
  return fail_for(ErrorCode::protocol_error);
}

// 6.3: checked and ignored.
bool FrameReceiver::on_priority(std::string_view payload) {
  if (frame_.stream == 0) return fail_for(ErrorCode::protocol_error);
  if (payload.size() != 5) return fail_for(ErrorCode::frame_size_error);
  if (read_u31(payload.data()) == frame_.stream) return fail_for(ErrorCode::protocol_error);
  return allow_idle_frame();
}

// RFC 9218, 7.1.
bool FrameReceiver::on_priority_update(std::string_view payload) {
  if (frame_.stream != 0) return fail_for(ErrorCode::protocol_error);
  if (payload.size() < 4) return fail_for(ErrorCode::frame_size_error);
  const std::uint32_t id = read_u31(payload.data());
  if (id == 0 || id % 2 == 0) return fail_for(ErrorCode::protocol_error);
  const Priority priority = parse_priority(payload.substr(4));
  if (H2Exchange* const exchange = streams_.find(id)) {
    sender_.set_priority(*exchange, priority);
  } else if (streams_.past(id) == Streams::Past::idle) {
    remember_priority(id, priority);
  }
  return allow_idle_frame();
}

// Keeps the priority of a stream that is not open yet. It overrides the request's field Priority.
void FrameReceiver::remember_priority(std::uint32_t id, Priority priority) {
  constexpr std::size_t remembered_max = 16;  // clients send few ahead of their requests
  const auto known = std::ranges::find(priorities_, id, [](const auto& it) { return it.first; });
  if (known != priorities_.end()) {
    known->second = priority;
  } else if (priorities_.size() < remembered_max) {
    priorities_.emplace_back(id, priority);
  }
}

void FrameReceiver::recall_priority(H2Exchange& exchange) {
  const auto known =
      std::ranges::find(priorities_, exchange.id, [](const auto& it) { return it.first; });
  if (known != priorities_.end()) exchange.stream.priority = known->second;
  std::erase_if(priorities_, [&](const auto& it) { return it.first <= exchange.id; });
}

// 6.4.
bool FrameReceiver::on_rst_stream(std::string_view payload) {
  if (frame_.stream == 0) return fail_for(ErrorCode::protocol_error);
  if (payload.size() != 4) return fail_for(ErrorCode::frame_size_error);
  if (H2Exchange* const exchange = streams_.find(frame_.stream)) {
    const std::uint32_t work = exchange->stop.work();
    sender_.drop(*exchange);
    return guard_.allow_reset(work) || fail_for(ErrorCode::enhance_your_calm);
  }
  const Streams::Past past = streams_.past(frame_.stream);
  if (past == Streams::Past::idle) return fail_for(ErrorCode::protocol_error);
  return allow_idle_frame();
}

// 6.5.
bool FrameReceiver::on_settings(std::string_view payload) {
  if (frame_.stream != 0) return fail_for(ErrorCode::protocol_error);
  if (frame_.has(flag::ack)) {
    if (!payload.empty()) return fail_for(ErrorCode::frame_size_error);
    acknowledged_ = true;
    return true;
  }
  if (payload.size() % 6 != 0) return fail_for(ErrorCode::frame_size_error);
  // Every value is checked. Only the last initial window is applied, since it concerns all streams.
  std::optional<std::uint32_t> window;
  for (; !payload.empty(); payload.remove_prefix(6)) {
    const auto setting = static_cast<Setting>(read_u16(payload.data()));
    const std::uint32_t value = read_u32(payload.data() + 2);
    if (!apply(setting, value)) return false;
    if (setting == Setting::initial_window_size) window = value;
  }
  if (window && !sender_.set_initial_window(*window)) {
    return fail_for(ErrorCode::flow_control_error);
  }
  settled_ = true;
  sender_.acknowledge_settings();
  return allow_idle_frame();
}

// 6.5.2.
bool FrameReceiver::apply(Setting setting, std::uint32_t value) {
  switch (setting) {
    case Setting::header_table_size:
      sender_.set_table_bytes_max(value);
      return true;
    case Setting::enable_push:  // the server never pushes
    case Setting::no_rfc7540_priorities:
      return value <= 1 || fail_for(ErrorCode::protocol_error);
    case Setting::initial_window_size:
      return value <= largest_window_bytes || fail_for(ErrorCode::flow_control_error);
    case Setting::max_frame_size:
      // Larger frames than the default would save little and delay other streams.
      return (value >= default_frame_bytes && value <= largest_frame_bytes) ||
             fail_for(ErrorCode::protocol_error);
    case Setting::max_concurrent_streams:  // limits pushed streams
    case Setting::max_header_list_size:    // advisory, and our heads are small
      return true;
  }
  return true;  // unknown ones are ignored
}

// 6.7.
bool FrameReceiver::on_ping(std::string_view payload) {
  if (frame_.stream != 0) return fail_for(ErrorCode::protocol_error);
  if (payload.size() != 8) return fail_for(ErrorCode::frame_size_error);
  if (frame_.has(flag::ack)) {
    if (payload == drain_ping) ponged_ = true;
    if (payload == growth_ping && growth_.end(window_.unread(), missing())) widen_windows();
    return allow_idle_frame();
  }
  sender_.ping(payload, true);
  return allow_idle_frame();
}

void FrameReceiver::ping_for_drain() {
  ponged_ = false;
  sender_.ping(drain_ping, false);
}

// Opens the windows for an upload whose first content has been consumed, if they do not allow it
// all. Earlier, the handler might still refuse it.
void FrameReceiver::begin_upload(const H2Exchange& exchange) {
  if (exchange.stream.fits_window()) return;
  if (growth_.begin_upload(exchange.head.content_length)) widen_windows();
}

// Announces what was consumed of the connection's window. Takes growth back instead if handlers
// lag, or if the window allows all that is still to come: a connection keeps none after its
// uploads.
void FrameReceiver::announce_connection() {
  const bool fits = missing() == 0;
  const bool lags = growth_.handlers_lag(window_.unread(), guard_.now_ms());
  if (fits || lags) growth_.shrink(window_.shrink(growth_.gained()));
  const std::uint32_t increment = window_.announce();
  if (increment == 0) return;
  sender_.window_update(0, increment);
  if (!fits) measure();
}

// Returns by how much the content that is still to come exceeds what the connection's window
// allows.
std::uint64_t FrameReceiver::missing() {
  std::uint64_t to_come = 0;
  streams_.for_each([&](const H2Exchange& exchange) {
    if (exchange.stream.takes_content()) to_come += content_to_come(exchange.stream);
  });
  return to_come - std::min<std::uint64_t>(to_come, window_.left());
}

// Sends a PING that measures what arrives in a round trip, unless one is in flight.
void FrameReceiver::measure() {
  if (!growth_.begin(window_.unread())) return;
  sender_.ping(growth_ping, false);
  guard_.credit_ping();
}

void FrameReceiver::widen_windows() {
  const std::uint32_t increment = window_.grow_to(growth_.connection_bytes());
  if (increment > 0) sender_.window_update(0, increment);
  streams_.for_each([this](H2Exchange& exchange) {
    if (!exchange.stream.takes_content()) return;
    const std::uint32_t more = exchange.stream.receive.grow_to(growth_.stream_bytes());
    if (more > 0) sender_.window_update(exchange.id, more);
  });
}

// 6.8: the client opens no more streams; open ones continue.
bool FrameReceiver::on_goaway(std::string_view payload) {
  if (frame_.stream != 0) return fail_for(ErrorCode::protocol_error);
  if (payload.size() < 8) return fail_for(ErrorCode::frame_size_error);
  peer_goes_ = true;
  return allow_idle_frame();
}

// 6.9.
bool FrameReceiver::on_window_update(std::string_view payload) {
  if (payload.size() != 4) return fail_for(ErrorCode::frame_size_error);
  const std::uint32_t increment = read_u31(payload.data());
  if (frame_.stream == 0) {
    if (increment == 0) return fail_for(ErrorCode::protocol_error);
    return sender_.widen(increment) || fail_for(ErrorCode::flow_control_error);
  }
  H2Exchange* const exchange = streams_.find(frame_.stream);
  if (exchange == nullptr) {
    const bool idle = streams_.past(frame_.stream) == Streams::Past::idle;
    return idle ? fail_for(ErrorCode::protocol_error) : allow_idle_frame();
  }
  if (increment == 0) return reset_for_violation(*exchange, ErrorCode::protocol_error);
  return sender_.widen(*exchange, increment) ||
         reset_for_violation(*exchange, ErrorCode::flow_control_error);
}

}  // namespace h2server::http::h2
