#include "http/h2/sender.h"

#include <algorithm>
#include <cstring>
#include <utility>
#include <vector>

#include "base/assert.h"
#include "http/h2/response_fields.h"

namespace h2server::http::h2 {

namespace {

constexpr Field continue_status{":status", "100"};

std::size_t bound_of(const ResponseHead& head) noexcept {
  std::size_t bound = hpack::Encoder::block_head_bytes_max;
  for (const Field& field : head.prepared) bound += hpack::Encoder::bound(field);
  for (const Field& field : head.fields) bound += hpack::Encoder::bound(field);
  return bound;
}

}  // namespace

// --- frames -----------------------------------------------------------------------------------

// Of a peer that reads, however slowly, output() may never be empty: what was counted is forgotten
// when all that it held then has left.
void Sender::count_frame() noexcept {
  const std::uint64_t left = appended_ - out_.size();
  if (left >= counted_until_) {
    unread_frames_ = std::exchange(fresh_frames_, 0);
    unread_acks_ = std::exchange(fresh_acks_, 0);
    counted_until_ = appended_;
  }
  ++unread_frames_;
  ++fresh_frames_;
}

void Sender::count_ack() noexcept {
  ++unread_acks_;
  ++fresh_acks_;
}

void Sender::append_frame(FrameHead head, std::string_view payload) {
  count_frame();
  head.size = static_cast<std::uint32_t>(payload.size());
  const std::span<char> room = out_.reserve(frame_head_bytes + payload.size());
  write_frame_head(room.data(), head);
  std::ranges::copy(payload, room.data() + frame_head_bytes);
  commit(room.size());
}

void Sender::commit(std::size_t size) {
  out_.commit(size);
  appended_ += size;
}

void Sender::settings() {
  struct Line {
    Setting setting;
    std::uint32_t value;
  };
  const std::array<Line, 4> lines = {{
      {Setting::max_concurrent_streams, limits_.streams_max},
      {Setting::initial_window_size, static_cast<std::uint32_t>(limits_.stream_window_bytes)},
      {Setting::max_header_list_size, static_cast<std::uint32_t>(limits_.head_bytes_max)},
      {Setting::no_rfc7540_priorities, 1},
  }};
  std::array<char, lines.size() * 6> payload;
  char* to = payload.data();
  for (const Line& line : lines) {
    write_u16(to, static_cast<std::uint16_t>(line.setting));
    write_u32(to + 2, line.value);
    to += 6;
  }
  append_frame({.type = FrameType::settings}, {payload.data(), payload.size()});
}

void Sender::acknowledge_settings() {
  append_frame({.type = FrameType::settings, .flags = flag::ack}, {});
  count_ack();
}

void Sender::ping(std::string_view payload, bool acknowledges) {
  append_frame({.type = FrameType::ping, .flags = acknowledges ? flag::ack : std::uint8_t{0}},
               payload);
  if (acknowledges) count_ack();
}

void Sender::goaway(std::uint32_t last_stream, ErrorCode code) {
  std::array<char, 8> payload;
  write_u32(payload.data(), last_stream);
  write_u32(payload.data() + 4, static_cast<std::uint32_t>(code));
  append_frame({.type = FrameType::goaway}, {payload.data(), payload.size()});
}

void Sender::window_update(std::uint32_t id, std::uint32_t increment) {
  std::array<char, 4> payload;
  write_u32(payload.data(), increment);
  append_frame({.type = FrameType::window_update, .stream = id}, {payload.data(), payload.size()});
}

void Sender::reset(std::uint32_t id, ErrorCode code) {
  std::array<char, 4> payload;
  write_u32(payload.data(), static_cast<std::uint32_t>(code));
  append_frame({.type = FrameType::rst_stream, .stream = id}, {payload.data(), payload.size()});
}

void Sender::reset(Transfer& transfer, ErrorCode code) {
  if (transfer.stream.state == Stream::State::closed) return;
  reset(transfer.id, code);
  // RFC 9113, 5.1: only a peer that has not ended its side may have sent more meanwhile.
  if (transfer.stream.takes_content()) streams_.note_reset(transfer.id);
  drop(transfer);
}

void Sender::drop(Transfer& transfer) {
  transfer.stream.has_body = false;
  scheduler_.remove(transfer);
  streams_.close(transfer);
}

// --- heads ------------------------------------------------------------------------------------

// A file's fields once the peer's table has them: a few bytes, the same ones until the table
// changes.
char* Sender::encode_prepared(char* to, const ResponseHead& head) {
  if (head.prepared_id != 0 && head.prepared_id == encoded_.prepared_id &&
      encoded_.version == encoder_.version()) {
    std::memcpy(to, encoded_.bytes.data(), encoded_.bytes.size());  // a size known when compiled
    return to + encoded_.size;
  }
  const std::uint64_t version = encoder_.version();
  char* end = encoder_.begin_block(to);
  for (const Field& field : head.prepared) end = encoder_.encode(end, field.name, field.value);
  const auto size = static_cast<std::size_t>(end - to);
  if (head.prepared_id != 0 && encoder_.version() == version && size <= encoded_.bytes.size()) {
    encoded_.prepared_id = head.prepared_id;
    encoded_.version = version;
    encoded_.size = static_cast<std::uint8_t>(size);
    std::memcpy(encoded_.bytes.data(), to, size);
  }
  return end;
}

char* Sender::encode_block(char* to, const ResponseHead& head) {
  to = encode_prepared(to, head);
  for (const Field& field : head.fields) to = encoder_.encode(to, field.name, field.value);
  return to;
}

// HEADERS with the whole field block where it fits (RFC 9113, 6.2).
void Sender::append_block(std::uint32_t id, const ResponseHead& head, bool ends) {
  const std::size_t bound = bound_of(head) + sizeof encoded_.bytes;
  if (bound > frame_bytes_max_) {
    append_large_block(id, head, ends, bound);
    return;
  }
  count_frame();
  const std::span<char> room = out_.reserve(frame_head_bytes + bound);
  char* const block = room.data() + frame_head_bytes;
  const auto size = static_cast<std::uint32_t>(encode_block(block, head) - block);
  const std::uint8_t end = ends ? flag::end_stream : std::uint8_t{0};
  write_frame_head(room.data(), {.size = size,
                                 .type = FrameType::headers,
                                 .flags = static_cast<std::uint8_t>(flag::end_headers | end),
                                 .stream = id});
  commit(frame_head_bytes + size);
}

// HEADERS and CONTINUATIONs (RFC 9113, 6.10): a handler with 16 KiB of fields.
void Sender::append_large_block(std::uint32_t id, const ResponseHead& head, bool ends,
                                std::size_t bound) {
  std::string block(bound, '\0');
  block.resize(static_cast<std::size_t>(encode_block(block.data(), head) - block.data()));
  std::string_view rest = block;
  FrameHead frame{
      .type = FrameType::headers, .flags = ends ? flag::end_stream : std::uint8_t{0}, .stream = id};
  do {
    const std::string_view part = rest.substr(0, frame_bytes_max_);
    rest.remove_prefix(part.size());
    if (rest.empty()) frame.flags |= flag::end_headers;
    append_frame(frame, part);
    frame = {.type = FrameType::continuation, .stream = id};
  } while (!rest.empty());
}

void Sender::respond(Transfer& transfer, const ResponseHead& head, bool has_body) {
  Stream& stream = transfer.stream;
  if (!stream.may_send()) return;  // reset meanwhile
  ASSERT(!stream.responded);
  stream.responded = true;
  stream.has_body = has_body;
  append_block(transfer.id, head, !has_body);
  if (!has_body) {
    end_local(transfer);
  } else if (!send_at_once(transfer)) {
    schedule(transfer);
  }
}

void Sender::inform_continue(Transfer& transfer) {
  if (!transfer.stream.may_send() || transfer.stream.responded) return;
  append_block(transfer.id, {.fields = {&continue_status, 1}}, false);
}

// --- bodies -----------------------------------------------------------------------------------

// A small body beside its head, unless others are waiting: most never see the scheduler.
bool Sender::send_at_once(Transfer& transfer) {
  OutgoingBody& body = transfer.outgoing;
  if (body.is_pulled() || body.finished() || scheduler_.first() != nullptr) return false;
  const std::size_t size_max = std::min<std::size_t>(
      {limits_.inline_file_bytes_max, window_.left(), transfer.stream.send.left()});
  const std::size_t size = body.next_size(size_max);
  if (size == 0 || !body.ends_after(size) || out_.size() > limits_.copied_bytes_max) return false;
  append_data(transfer, size);
  return true;
}

// Its turn will come, if it has something to send and may.
void Sender::schedule(Transfer& transfer) {
  const Stream& stream = transfer.stream;
  if (!stream.has_body || stream.ready || transfer.stalled) return;
  if (stream.send.left() == 0 && !transfer.outgoing.finished()) return;
  scheduler_.add(transfer);
}

void Sender::body_offered(Transfer& transfer) {
  if (!std::exchange(transfer.stalled, false) || !transfer.stream.may_send()) return;
  schedule(transfer);
}

void Sender::produce(std::size_t bytes_max) {
  while (out_.size() < bytes_max) {
    Transfer* const transfer = scheduler_.first();
    if (transfer == nullptr || !send_data(*transfer)) return;
  }
}

// A frame of it, or out of the scheduler. False: nothing may leave now.
bool Sender::send_data(Transfer& transfer) {
  OutgoingBody& body = transfer.outgoing;
  if (body.finished()) {  // its source's end was offered
    end_body(transfer);
    return true;
  }
  if (window_.left() == 0) return false;
  const std::uint32_t window = std::min(window_.left(), transfer.stream.send.left());
  const std::size_t size = body.next_size(std::min(window, frame_bytes_max_));
  if (size == 0) {
    transfer.stalled = body.next_size(1) == 0;  // its end needs no window
    scheduler_.remove(transfer);
    return true;
  }
  if (body.must_wait(out_, size)) return false;
  append_data(transfer, size);
  if (!transfer.stream.has_body) return true;  // that was the last one, or the stream was reset
  if (body.is_pulled() && body.next_size(1) == 0) {
    transfer.stream.taken = true;
    streams_.tell(transfer);
  }
  scheduler_.took_turn(transfer);
  return true;
}

// Resets the stream when the body can't be completed.
void Sender::append_data(Transfer& transfer, std::size_t size) {
  const bool last = transfer.outgoing.ends_after(size);
  std::array<char, frame_head_bytes> head;
  write_frame_head(head.data(), {.size = static_cast<std::uint32_t>(size),
                                 .type = FrameType::data,
                                 .flags = last ? flag::end_stream : std::uint8_t{0},
                                 .stream = transfer.id});
  if (!transfer.outgoing.append(out_, {head.data(), head.size()}, size)) {
    reset(transfer, ErrorCode::internal_error);
    return;
  }
  appended_ += head.size() + size;
  window_.take(static_cast<std::uint32_t>(size));
  transfer.stream.send.take(static_cast<std::uint32_t>(size));
  if (last) end_local(transfer);
}

// The end of a body that was produced while it was sent: trailer fields, or an empty frame.
void Sender::end_body(Transfer& transfer) {
  std::vector<Field> trailers;
  if (BodySource* const source = transfer.outgoing.source()) {
    trailer_fields(source->trailers(), transfer.arena, trailers);
  }
  if (trailers.empty()) {
    append_frame({.type = FrameType::data, .flags = flag::end_stream, .stream = transfer.id}, {});
  } else {
    append_block(transfer.id, {.fields = trailers}, true);
  }
  end_local(transfer);
}

// END_STREAM has been sent (RFC 9113, 5.1).
void Sender::end_local(Transfer& transfer) {
  Stream& stream = transfer.stream;
  scheduler_.remove(transfer);
  stream.has_body = false;
  if (stream.state == Stream::State::half_closed_remote) {
    streams_.close(transfer);
  } else {
    stream.state = Stream::State::half_closed_local;
  }
}

// --- what the peer allows ---------------------------------------------------------------------

// Larger frames would save little and hold up others.
void Sender::set_frame_bytes_max(std::uint32_t bytes) noexcept {
  frame_bytes_max_ = std::min(bytes, default_frame_bytes);
}

bool Sender::set_initial_window(std::uint32_t bytes) {
  const std::int64_t change = std::int64_t{bytes} - initial_window_;
  initial_window_ = bytes;
  bool good = true;
  streams_.for_each([&](Transfer& transfer) {
    good = transfer.stream.send.add(change) && good;
    schedule(transfer);
  });
  return good;
}

bool Sender::widen(Transfer& transfer, std::uint32_t increment) {
  if (!transfer.stream.send.add(increment)) return false;
  schedule(transfer);
  return true;
}

void Sender::set_priority(Transfer& transfer, Priority priority) {
  const bool ready = transfer.stream.ready;
  if (ready) scheduler_.remove(transfer);
  transfer.stream.priority = priority;
  if (ready) scheduler_.add(transfer);
}

}  // namespace h2server::http::h2
