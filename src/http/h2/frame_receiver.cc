#include "http/h2/frame_receiver.h"

#include <algorithm>

#include "http/h2/priority.h"

namespace h2server::http::h2 {

FrameReceiver::FrameReceiver(const Limits& limits, Streams& streams, FrameSender& sender,
                             WindowBudget* windows)
    : limits_(limits),
      streams_(streams),
      sender_(sender),
      builder_(limits),
      growth_(limits, windows),
      guard_(limits) {
  sender.settings();
  const std::uint32_t increment = window_.grow_to(growth_.connection_bytes());
  if (increment > 0) sender.window_update(0, increment);
}

void FrameReceiver::receive(std::string_view bytes, std::int64_t now_ms) noexcept {
  input_ = bytes;
  guard_.set_time(now_ms);
}

void FrameReceiver::fail(ErrorCode code) {
  if (std::exchange(failed_, true)) return;
  error_ = code;
  sender_.goaway(last_served(), code);
}

std::uint32_t FrameReceiver::last_served() const noexcept {
  return std::min(last_served_, streams_.last_id());
}

// --- bytes ------------------------------------------------------------------------------------

bool FrameReceiver::next(SessionEvent& event) {
  bool more = true;
  while (more && !failed_ && !streams_.has_notifications()) {  // queued events come first
    switch (state_) {
      case State::opening:
        more = take_preface();
        break;
      case State::head:
        more = take_head();
        break;
      case State::payload:
        if (take_payload(event)) return true;
        more = state_ != State::payload;
        break;
      case State::content:
      case State::padding:
        if (take_content(event)) return true;
        more = state_ == State::head;
        break;
      case State::skipping:
        more = skip();
        break;
    }
  }
  if (sender_.overfull()) fail(ErrorCode::enhance_your_calm);
  return false;
}

// Returns `size` contiguous bytes, valid until the next call, or null if they have not all arrived.
const char* FrameReceiver::take(std::size_t size) {
  if (std::exchange(partial_taken_, false)) partial_.clear();
  if (partial_.empty() && input_.size() >= size) {
    const char* const first = input_.data();
    input_.remove_prefix(size);
    return first;
  }
  const std::string_view part = input_.substr(0, size - partial_.size());
  partial_.append(part);
  input_.remove_prefix(part.size());
  if (partial_.size() < size) return nullptr;
  partial_taken_ = true;
  return partial_.view().data();
}

bool FrameReceiver::skip() {
  const std::size_t part = std::min<std::size_t>(left_, input_.size());
  input_.remove_prefix(part);
  left_ -= static_cast<std::uint32_t>(part);
  if (left_ > 0) return false;
  state_ = State::head;
  return true;
}

// RFC 9113, 3.4.
bool FrameReceiver::take_preface() {
  const std::string_view wanted = preface.substr(partial_.size());
  const std::string_view got = input_.substr(0, wanted.size());
  if (!wanted.starts_with(got)) return fail_for(ErrorCode::protocol_error);
  if (take(preface.size()) == nullptr) return false;
  state_ = State::head;
  return true;
}

bool FrameReceiver::take_head() {
  if (input_.empty()) {
    if (std::exchange(partial_taken_, false)) partial_.clear();
    return false;
  }
  const char* const bytes = take(frame_head_bytes);
  if (bytes == nullptr) return false;
  frame_ = read_frame_head(bytes);
  if (frame_.type != FrameType::continuation) frames_ = std::max(frames_ + 1, 1U);
  return begin_frame();
}

bool FrameReceiver::begin_frame() {
  // RFC 9113, 3.4: the client begins with SETTINGS.
  if (!settled_ && (frame_.type != FrameType::settings || frame_.has(flag::ack))) {
    return fail_for(ErrorCode::protocol_error);
  }
  // 6.10: nothing comes between the parts of a field block.
  const bool continues = frame_.type == FrameType::continuation;
  if (block_stream_ != 0 ? !continues || frame_.stream != block_stream_ : continues) {
    return fail_for(ErrorCode::protocol_error);
  }
  if (frame_.size > default_frame_bytes) return fail_for(ErrorCode::frame_size_error);
  if (frame_.type == FrameType::data) return begin_data();
  if (frame_.type <= FrameType::continuation || frame_.type == FrameType::priority_update) {
    state_ = State::payload;
    return true;
  }
  if (!allow_idle_frame()) return false;  // 5.5: an unknown extension
  left_ = frame_.size;
  state_ = State::skipping;
  return true;
}

bool FrameReceiver::allow_idle_frame() {
  return guard_.allow_idle_frame() || fail_for(ErrorCode::enhance_your_calm);
}

bool FrameReceiver::take_payload(SessionEvent& event) {
  const char* const bytes = take(frame_.size);
  if (bytes == nullptr) return false;
  state_ = State::head;
  const std::string_view payload(bytes, frame_.size);
  if (frame_.type == FrameType::headers) return on_headers(payload, event);
  if (frame_.type == FrameType::continuation) return on_continuation(payload, event);
  on_other(payload);
  return false;
}

// --- DATA (RFC 9113, 6.1) ---------------------------------------------------------------------

// The whole payload counts for flow control, including padding, even on closed streams (6.9).
bool FrameReceiver::begin_data() {
  if (frame_.stream == 0) return fail_for(ErrorCode::protocol_error);
  if (!window_.take(frame_.size)) return fail_for(ErrorCode::flow_control_error);
  H2Exchange* exchange = streams_.find(frame_.stream);
  if (exchange == nullptr) {
    const Streams::Past past = streams_.past(frame_.stream);
    const bool beyond = frame_.stream > last_served_;
    if (past == Streams::Past::idle || past == Streams::Past::skipped) {
      return fail_for(ErrorCode::protocol_error);
    }
    if (past == Streams::Past::ended && !beyond) return fail_for(ErrorCode::stream_closed);
  } else if (!exchange->stream.takes_content()) {
    return fail_for(ErrorCode::stream_closed);
  } else if (!exchange->stream.receive.take(frame_.size)) {
    if (!reset_for_violation(*exchange, ErrorCode::flow_control_error)) return false;
    exchange = nullptr;
  }
  const bool padded = frame_.has(flag::padded);
  if (padded && frame_.size == 0) return fail_for(ErrorCode::frame_size_error);
  if (frame_.size == 0 && !frame_.has(flag::end_stream) && !allow_idle_frame()) return false;
  left_ = frame_.size;
  padding_ = 0;
  if (exchange == nullptr) {
    consume(nullptr, frame_.size);
    state_ = State::skipping;
  } else {
    growth_.arrived(frame_.size);  // content of closed streams needs no window
    state_ = padded ? State::padding : State::content;
  }
  return true;
}

// Returns true if there is an event. Otherwise the frame is complete if the state is `head`, or
// bytes are missing.
bool FrameReceiver::take_content(SessionEvent& event) {
  if (state_ == State::padding) {  // the padding's size comes first
    const char* const size = take(1);
    if (size == nullptr) return false;
    padding_ = static_cast<unsigned char>(*size);
    if (padding_ >= left_) return fail_for(ErrorCode::protocol_error);
    left_ -= padding_ + 1;
    consume(streams_.find(frame_.stream), padding_ + 1);
    state_ = State::content;
  }
  H2Exchange* const exchange = streams_.find(frame_.stream);
  if (exchange == nullptr) {  // we have reset it since the frame began
    consume(nullptr, left_);
    left_ += padding_;
    state_ = State::skipping;
    skip();
    return false;
  }
  if (left_ > 0) {
    const std::string_view part = input_.substr(0, left_);
    if (part.empty()) return false;
    input_.remove_prefix(part.size());
    left_ -= static_cast<std::uint32_t>(part.size());
    Stream& stream = exchange->stream;
    if (stream.sized && part.size() > stream.content_left) {  // 8.1.1
      consume(nullptr, static_cast<std::uint32_t>(part.size()));
      return reset_for_violation(*exchange, ErrorCode::protocol_error) && take_content(event);
    }
    stream.content_left -= stream.sized ? part.size() : 0;
    event = {SessionEvent::Kind::data, exchange, part};
    return true;
  }
  left_ = std::exchange(padding_, 0);
  state_ = State::skipping;
  const bool ends = frame_.has(flag::end_stream);
  skip();
  return ends && on_stream_end(*exchange, event);
}

// Handles END_STREAM: the request is complete if its content has the declared length.
bool FrameReceiver::on_stream_end(H2Exchange& exchange, SessionEvent& event) {
  Stream& stream = exchange.stream;
  if (stream.sized && stream.content_left > 0) {
    stream.state = Stream::State::half_closed_remote;  // the peer may send no more
    reset_for_violation(exchange, ErrorCode::protocol_error);
    return false;
  }
  exchange.session.ended = true;
  event = {SessionEvent::Kind::ended, &exchange};
  if (stream.state == Stream::State::half_closed_local) {
    sender_.drop(exchange);  // already answered: the event `closed` suffices
    return false;
  }
  stream.state = Stream::State::half_closed_remote;
  return true;
}

// Resets a stream for an error of the peer. This counts like a reset by the peer: CVE-2025-8671.
// Returns false if the session failed.
bool FrameReceiver::reset_for_violation(H2Exchange& exchange, ErrorCode code) {
  const std::uint32_t work = exchange.stop.work();
  sender_.reset(exchange, code);
  return guard_.allow_reset(work) || fail_for(ErrorCode::enhance_your_calm);
}

void FrameReceiver::consume(H2Exchange* exchange, std::uint32_t bytes, Consumed by) {
  const bool takes_content = exchange != nullptr && exchange->stream.takes_content();
  const bool read = takes_content && by == Consumed::read;
  if (read && !std::exchange(exchange->stream.read, true)) begin_upload(*exchange);
  window_.release(bytes);
  if (window_.announcement_due()) announce_connection();
  if (!takes_content) return;
  const std::uint32_t increment = exchange->stream.receive.give_back(bytes);
  if (increment == 0) return;
  sender_.window_update(exchange->id, increment);
  if (!exchange->stream.fits_window()) measure();
}

// --- field blocks (RFC 9113, 6.2 and 6.10) ----------------------------------------------------

bool FrameReceiver::on_headers(std::string_view payload, SessionEvent& event) {
  // 5.1.1: clients open streams with odd identifiers.
  if (frame_.stream % 2 == 0) return fail_for(ErrorCode::protocol_error);
  std::size_t padding = 0;
  if (frame_.has(flag::padded)) {
    if (payload.empty()) return fail_for(ErrorCode::frame_size_error);
    padding = static_cast<unsigned char>(payload[0]);
    payload.remove_prefix(1);
  }
  if (frame_.has(flag::priority)) {  // of RFC 7540; ignored
    if (payload.size() < 5) return fail_for(ErrorCode::frame_size_error);
    // RFC 7540, 5.3.1: a stream can't depend on itself.
    if (read_u31(payload.data()) == frame_.stream) return fail_for(ErrorCode::protocol_error);
    payload.remove_prefix(5);
  }
  if (padding > payload.size()) return fail_for(ErrorCode::protocol_error);
  payload.remove_suffix(padding);
  block_ends_stream_ = frame_.has(flag::end_stream);
  block_stream_ = frame_.stream;
  if (frame_.has(flag::end_headers)) return on_block(payload, event);
  block_.append(payload);
  continuations_ = 0;
  return false;
}

bool FrameReceiver::on_continuation(std::string_view payload, SessionEvent& event) {
  const bool too_many = ++continuations_ > limits_.continuations_max;
  if (too_many || block_.size() + payload.size() > 2 * limits_.head_bytes_max) {
    return fail_for(ErrorCode::enhance_your_calm);
  }
  block_.append(payload);
  if (!frame_.has(flag::end_headers)) return false;
  const bool has_event = on_block(block_.view(), event);
  block_.clear();
  return has_event;
}

// Decodes every block, even for a stream that is ignored: later blocks depend on it (4.3).
bool FrameReceiver::on_block(std::string_view block, SessionEvent& event) {
  const std::uint32_t id = std::exchange(block_stream_, 0);
  if (H2Exchange* const exchange = streams_.find(id)) return on_trailers(*exchange, block, event);
  switch (streams_.past(id)) {
    case Streams::Past::idle:
      break;
    case Streams::Past::skipped:
      return fail_for(ErrorCode::protocol_error);
    case Streams::Past::ended:
      if (id <= last_served_) return fail_for(ErrorCode::stream_closed);
      return ignore_block(block);
    case Streams::Past::reset:
    case Streams::Past::forgotten:
      return ignore_block(block);
  }
  streams_.use(id);
  if (id > last_served_) return ignore_block(block);
  guard_.credit_stream();
  if (streams_.alive() >= limits_.streams_max) {  // 5.1.2
    const bool decoded = decode(block, nullptr) != Decoded::failed;
    if (decoded) sender_.reset(id, ErrorCode::refused_stream);
    if (!block_ends_stream_) streams_.mark_reset(id);
    if (!guard_.allow_reset()) fail(ErrorCode::enhance_your_calm);
    return false;
  }
  return on_request(block, event);
}

bool FrameReceiver::ignore_block(std::string_view block) {
  decode(block, nullptr);
  return allow_idle_frame() && false;
}

bool FrameReceiver::on_request(std::string_view block, SessionEvent& event) {
  H2Exchange& exchange = streams_.open(frame_.stream);
  Stream& stream = exchange.stream;
  exchange.head.version = Version::http_2;
  stream.send = SendWindow(sender_.initial_window());
  stream.receive = ReceiveWindow(static_cast<std::uint32_t>(limits_.stream_window_bytes));
  const Decoded decoded = decode_head(block, exchange);
  if (decoded == Decoded::failed) {
    streams_.close(exchange);
    return false;
  }
  const std::optional<std::uint64_t> length = exchange.head.content_length;
  stream.sized = length.has_value();
  stream.content_left = length.value_or(0);
  if (decoded == Decoded::malformed || (block_ends_stream_ && stream.content_left > 0)) {
    reset_for_violation(exchange, ErrorCode::protocol_error);
    return false;
  }
  if (!priorities_.empty()) recall_priority(exchange);
  if (block_ends_stream_) {
    stream.state = Stream::State::half_closed_remote;
    exchange.session.ended = true;
  }
  const bool is_small = stream.sized && stream.content_left <=
                                            static_cast<std::uint64_t>(limits_.stream_window_bytes);
  if (!exchange.session.ended && !is_small) {  // it began with the window of our SETTINGS
    const std::uint32_t increment = stream.receive.grow_to(growth_.stream_bytes());
    if (increment > 0) sender_.window_update(exchange.id, increment);
  }
  stream.announced = true;
  event = {SessionEvent::Kind::request, &exchange};
  return true;
}

bool FrameReceiver::on_trailers(H2Exchange& exchange, std::string_view block, SessionEvent& event) {
  if (!exchange.stream.takes_content()) return fail_for(ErrorCode::stream_closed);
  builder_.begin_trailers(exchange);
  const Decoded decoded = decode(block, &builder_);
  if (decoded == Decoded::failed) return false;
  // RFC 9113, 8.1: trailers end the request.
  if (decoded == Decoded::good && block_ends_stream_) return on_stream_end(exchange, event);
  reset_for_violation(exchange, ErrorCode::protocol_error);
  return false;
}

FrameReceiver::Decoded FrameReceiver::decode_head(std::string_view block, H2Exchange& exchange) {
  RepeatedHead& repeated = RepeatedHead::of_thread();
  const RepeatedHead::Context context{connection_, decoder_.version()};
  const bool may_repeat = repeated.may_repeat();
  if (may_repeat && repeated.restore(context, block, exchange)) return Decoded::good;
  builder_.begin_head(exchange);
  const Decoded decoded = decode(block, &builder_);
  if (may_repeat && decoded == Decoded::good && decoder_.version() == context.table) {
    repeated.note(context, block, exchange);
  }
  return decoded;
}

FrameReceiver::Decoded FrameReceiver::decode(std::string_view block, RequestHeadBuilder* builder) {
  decoder_.begin(block);
  hpack::FieldLine line;
  for (;;) {
    switch (decoder_.next(line)) {
      case hpack::Decoder::Verdict::line:
        if (builder == nullptr) break;
        builder->add(line);
        if (!builder->is_flood()) break;
        fail(ErrorCode::enhance_your_calm);
        return Decoded::failed;
      case hpack::Decoder::Verdict::end:
        return builder == nullptr || builder->validate() ? Decoded::good : Decoded::malformed;
      case hpack::Decoder::Verdict::malformed:
        fail(ErrorCode::compression_error);
        return Decoded::failed;
    }
  }
}

}  // namespace h2server::http::h2
