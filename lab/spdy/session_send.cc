// SpdySession: responses and their bodies.
#include <algorithm>
#include <array>
#include <utility>

#include "base/assert.h"
#include "http/fields/trailers.h"
#include "spdy/session.h"

namespace h2server::lab::spdy {

namespace {

// Replaces `fields` by those of the head, and adds ":version" (SPDY, 3.2.2).
void collect_fields(const h2::ResponseHead& head, std::vector<Field>& fields) {
  fields.clear();
  if (head.prepared != nullptr) {
    fields.assign(h2::PreparedHead::common.begin(), h2::PreparedHead::common.end());
  }
  fields.insert(fields.end(), head.fields.begin(), head.fields.end());
  fields.push_back({":version", "HTTP/1.1"});
  if (!head.date.empty()) fields.push_back({"date", head.date});
  if (head.prepared == nullptr) return;
  for (const h2::hpack::HashedField& shared : head.prepared->shared) fields.push_back(shared.field);
  fields.insert(fields.end(), head.prepared->own.fields.begin(), head.prepared->own.fields.end());
}

}  // namespace

void SpdySession::append_fields(FrameType type, std::uint32_t id, std::span<const Field> fields,
                                bool ends) {
  thread_local std::string block;
  write_block(fields, block);
  std::array<char, 4> fixed;
  write_u32(fixed.data(), id);
  append_control(out_, type, ends ? flag::fin : std::uint8_t{0}, {fixed.data(), fixed.size()},
                 compressor_.compress(block));
}

void SpdySession::respond(H2Exchange& exchange, const h2::ResponseHead& head, bool has_body) {
  h2::Stream& stream = exchange.stream;
  if (failed_ || !stream.may_send()) return;  // already reset
  ASSERT(!stream.responded);
  stream.responded = true;
  thread_local std::vector<Field> fields;
  collect_fields(head, fields);
  append_fields(FrameType::syn_reply, exchange.id, fields, !has_body);
  if (!has_body) {
    end_local(exchange);
    return;
  }
  stream.has_body = true;
  const std::string_view content = content_at_once(exchange);
  if (content.empty()) {
    schedule(exchange);
    return;
  }
  append_last_data(exchange.id, content);
  take_send_window(exchange, content.size());
  exchange.outgoing.finish();
  end_local(exchange);
}

void SpdySession::append_last_data(std::uint32_t id, std::string_view content) {
  const std::span<char> room = out_.reserve(frame_head_bytes + content.size());
  write_data_head(room.data(), id, flag::fin, content.size());
  std::ranges::copy(content, room.data() + frame_head_bytes);
  out_.commit(room.size());
}

// Returns a small body that can leave with its head because no other stream waits to send, or
// nothing.
std::string_view SpdySession::content_at_once(const H2Exchange& exchange) const noexcept {
  if (scheduler_.first() != nullptr || out_.size() > limits_.copied_bytes_max) return {};
  return exchange.outgoing.whole(std::min<std::size_t>(
      {limits_.inline_file_bytes_max, send_window_.left(), exchange.stream.send.left()}));
}

// Adds the stream to the scheduler if it has something to send and its window allows it.
void SpdySession::schedule(H2Exchange& exchange) {
  const h2::Stream& stream = exchange.stream;
  if (!stream.has_body || stream.ready || exchange.session.stalled) return;
  const http::OutgoingBody& body = exchange.outgoing;
  if (stream.send.left() == 0 && !body.finished() && !body.lacks_only_its_end()) return;
  scheduler_.add(exchange);
}

void SpdySession::body_offered(H2Exchange& exchange) {
  exchange.session.stalled = false;
  if (exchange.stream.may_send()) schedule(exchange);
}

void SpdySession::produce(std::size_t bytes_max) {
  while (!failed_ && out_.size() + frame_head_bytes < bytes_max) {
    H2Exchange* const exchange = scheduler_.first();
    const std::size_t room = bytes_max - out_.size() - frame_head_bytes;
    if (exchange == nullptr || !send_data(*exchange, room)) return;
  }
}

// Sends one frame of the body, with at most `room` bytes, or removes the stream from the scheduler.
// Returns false if nothing can be sent now.
bool SpdySession::send_data(H2Exchange& exchange, std::size_t room) {
  http::OutgoingBody& body = exchange.outgoing;
  if (body.finished()) {  // the source's end was offered
    end_body(exchange);
    return true;
  }
  if (body.lacks_only_its_end()) {  // which needs no window
    want_body(exchange);
    return true;
  }
  if (send_window_.left() == 0) return false;
  const std::size_t size = body.next_size(std::min<std::size_t>(
      {send_window_.left(), exchange.stream.send.left(), scheduler_.turn_left(exchange), room}));
  if (size == 0) {
    if (exchange.stream.send.left() > 0 && body.next_size(1) == 0) {
      want_body(exchange);
    } else {
      scheduler_.remove(exchange);  // until the window opens
    }
    return true;
  }
  if (body.must_wait(out_, size)) return false;
  append_data(exchange, size);
  if (body.is_pulled() && body.finished()) streams_.notify(exchange);
  if (!exchange.stream.has_body) return true;  // the last frame, or the stream was reset
  scheduler_.sent(exchange, static_cast<std::uint32_t>(size));
  return true;
}

// The stream waits for content, and not for a window.
void SpdySession::want_body(H2Exchange& exchange) noexcept {
  exchange.session.stalled = true;
  scheduler_.remove(exchange);
  streams_.notify(exchange);
}

// Appends a data frame. Resets the stream if the body can't be completed.
void SpdySession::append_data(H2Exchange& exchange, std::size_t size) {
  const bool last = exchange.outgoing.ends_after(size);
  std::array<char, frame_head_bytes> head;
  write_data_head(head.data(), exchange.id, last ? flag::fin : std::uint8_t{0}, size);
  if (!exchange.outgoing.append(out_, {head.data(), head.size()}, size)) {
    reset_with(exchange, StreamStatus::internal_error);
    return;
  }
  take_send_window(exchange, size);
  if (last) end_local(exchange);
}

void SpdySession::take_send_window(H2Exchange& exchange, std::size_t size) noexcept {
  send_window_.take(static_cast<std::uint32_t>(size));
  exchange.stream.send.take(static_cast<std::uint32_t>(size));
}

// Ends a streamed body with trailer fields, or with an empty data frame.
void SpdySession::end_body(H2Exchange& exchange) {
  std::vector<Field> trailers;
  if (BodySource* const source = exchange.outgoing.source()) {
    http::trailer_fields(source->trailers(), exchange.arena, trailers);
  }
  if (trailers.empty()) {
    append_last_data(exchange.id, {});
  } else {
    append_fields(FrameType::headers, exchange.id, trailers, true);
  }
  end_local(exchange);
}

// Called when FLAG_FIN has been sent (SPDY, 2.3.6).
void SpdySession::end_local(H2Exchange& exchange) {
  h2::Stream& stream = exchange.stream;
  scheduler_.remove(exchange);
  stream.has_body = false;
  if (stream.state == h2::Stream::State::half_closed_remote) {
    streams_.close(exchange);
  } else {
    stream.state = h2::Stream::State::half_closed_local;
  }
}

// SPDY, 2.6.8: a change concerns open streams, too, and may make their windows negative.
void SpdySession::set_initial_window(std::uint32_t bytes) {
  const std::int64_t change = std::int64_t{bytes} - initial_window_;
  initial_window_ = bytes;
  bool good = true;
  streams_.for_each([&](H2Exchange& exchange) {
    good = exchange.stream.send.add(change) && good;
    schedule(exchange);
  });
  if (!good) fail(h2::ErrorCode::flow_control_error);
}

}  // namespace h2server::lab::spdy
