#include "http/h2/sender.h"

#include <algorithm>
#include <cstring>
#include <utility>
#include <vector>

#include "base/assert.h"
#include "http/trailers.h"

namespace h2server::http::h2 {

namespace {

constexpr Field continue_status{":status", "100"};

Field date_field(const ResponseHead& head) noexcept { return {"date", head.date}; }

std::size_t bound_of(const ResponseHead& head) noexcept {
  std::size_t bound =
      hpack::Encoder::block_head_bytes_max + hpack::Encoder::bound(date_field(head));
  for (const Field& field : head.prepared) bound += hpack::Encoder::bound(field);
  for (const Field& field : head.fields) bound += hpack::Encoder::bound(field);
  return bound;
}

constexpr FrameHead last_data(std::uint32_t id) noexcept {
  return {.type = FrameType::data, .flags = flag::end_stream, .stream = id};
}

}  // namespace

// --- frames -----------------------------------------------------------------------------------

void Sender::append_frame(FrameHead head, std::string_view payload) {
  head.size = static_cast<std::uint32_t>(payload.size());
  const std::span<char> room = out_.reserve(frame_head_bytes + payload.size());
  write_frame_head(room.data(), head);
  if (!payload.empty()) std::memcpy(room.data() + frame_head_bytes, payload.data(), payload.size());
  out_.commit(room.size());
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
}

void Sender::ping(std::string_view payload, bool acknowledges) {
  append_frame({.type = FrameType::ping, .flags = acknowledges ? flag::ack : std::uint8_t{0}},
               payload);
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

// Returns true if encoded_ holds this head. Once the peer's table has a file's fields, their
// encoding is a few bytes and stays the same until the table or the date changes.
bool Sender::is_encoded(const ResponseHead& head) const noexcept {
  return head.prepared_id != 0 && head.prepared_id == encoded_.prepared_id &&
         head.date_s == encoded_.date_s && encoder_.version() == encoded_.version &&
         head.fields.empty();
}

char* Sender::encode_block(char* to, const ResponseHead& head) {
  if (is_encoded(head)) {
    std::memcpy(to, encoded_.bytes.data(), encoded_.bytes.size());  // a constant size
    return to + encoded_.size;
  }
  const std::uint64_t version = encoder_.version();
  char* end = encoder_.begin_block(to);
  for (const Field& field : head.prepared) end = encoder_.encode(end, field.name, field.value);
  for (const Field& field : head.fields) end = encoder_.encode(end, field.name, field.value);
  if (!head.date.empty()) end = encoder_.encode(end, "date", head.date);
  const auto size = static_cast<std::size_t>(end - to);
  const bool again = head.prepared_id != 0 && head.fields.empty();
  if (again && encoder_.version() == version && size <= encoded_.bytes.size()) {
    encoded_ = {head.prepared_id, head.date_s, version, static_cast<std::uint8_t>(size), {}};
    std::memcpy(encoded_.bytes.data(), to, size);
  }
  return end;
}

// Appends HEADERS with the whole field block if it fits into a frame (RFC 9113, 6.2), and DATA with
// END_STREAM if there is `content`.
void Sender::append_block(std::uint32_t id, const ResponseHead& head, bool ends,
                          std::string_view content) {
  const std::size_t bound = is_encoded(head) ? sizeof encoded_.bytes : bound_of(head);
  if (bound > frame_bytes_max_) {
    append_large_block(id, head, ends, bound);
    if (!content.empty()) append_frame(last_data(id), content);
    return;
  }
  const std::span<char> room = out_.reserve(2 * frame_head_bytes + bound + content.size());
  char* const block = room.data() + frame_head_bytes;
  char* end = encode_block(block, head);
  const std::uint8_t last = ends ? flag::end_stream : std::uint8_t{0};
  write_frame_head(room.data(), {.size = static_cast<std::uint32_t>(end - block),
                                 .type = FrameType::headers,
                                 .flags = static_cast<std::uint8_t>(flag::end_headers | last),
                                 .stream = id});
  if (!content.empty()) {
    FrameHead data = last_data(id);
    data.size = static_cast<std::uint32_t>(content.size());
    write_frame_head(end, data);
    std::memcpy(end + frame_head_bytes, content.data(), content.size());
    end += frame_head_bytes + content.size();
  }
  out_.commit(static_cast<std::size_t>(end - room.data()));
}

// Appends HEADERS and CONTINUATIONs (RFC 9113, 6.10), for a field block that may exceed a frame.
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
  if (!stream.may_send()) return;  // already reset
  ASSERT(!stream.responded);
  stream.responded = true;
  const std::string_view content = has_body ? content_at_once(transfer) : std::string_view();
  append_block(transfer.id, head, !has_body, content);
  if (!has_body) {
    end_local(transfer);
    return;
  }
  stream.has_body = true;
  if (content.empty()) {
    schedule(transfer);
    return;
  }
  take_window(transfer, content.size());
  transfer.outgoing.finish();
  end_local(transfer);
}

void Sender::inform_continue(Transfer& transfer) {
  if (!transfer.stream.may_send() || transfer.stream.responded) return;
  append_block(transfer.id, {.fields = {&continue_status, 1}}, false);
}

// --- bodies -----------------------------------------------------------------------------------

// Returns a small body that can leave with its head because no other stream waits to send, or
// nothing. Most bodies never enter the scheduler.
std::string_view Sender::content_at_once(const Transfer& transfer) const noexcept {
  if (scheduler_.first() != nullptr || out_.size() > limits_.copied_bytes_max) return {};
  return transfer.outgoing.whole(std::min<std::size_t>(
      {limits_.inline_file_bytes_max, window_.left(), transfer.stream.send.left()}));
}

// Adds the stream to the scheduler if it has something to send and its window allows it.
void Sender::schedule(Transfer& transfer) {
  const Stream& stream = transfer.stream;
  if (!stream.has_body || stream.ready || transfer.stalled) return;
  if (stream.send.left() == 0 && !transfer.outgoing.finished()) return;
  scheduler_.add(transfer);
}

void Sender::body_offered(Transfer& transfer) {
  transfer.stalled = false;
  if (transfer.stream.may_send()) schedule(transfer);
}

void Sender::produce(std::size_t bytes_max) {
  while (out_.size() < bytes_max) {
    Transfer* const transfer = scheduler_.first();
    if (transfer == nullptr || !send_data(*transfer)) return;
  }
}

// Sends one frame of the body, or removes the stream from the scheduler. Returns false if nothing
// can be sent now.
bool Sender::send_data(Transfer& transfer) {
  OutgoingBody& body = transfer.outgoing;
  if (body.finished()) {  // the source's end was offered
    end_body(transfer);
    return true;
  }
  if (window_.left() == 0) return false;
  const std::uint32_t window = std::min(window_.left(), transfer.stream.send.left());
  const std::size_t size = body.next_size(std::min(window, frame_bytes_max_));
  if (size == 0) {
    transfer.stalled = body.next_size(1) == 0;  // waits for content, not for a window
    scheduler_.remove(transfer);
    return true;
  }
  if (body.must_wait(out_, size)) return false;
  append_data(transfer, size);
  if (body.is_pulled() && body.next_size(1) == 0) {
    transfer.stream.taken = true;
    streams_.tell(transfer);
  }
  if (!transfer.stream.has_body) return true;  // the last frame, or the stream was reset
  scheduler_.took_turn(transfer);
  return true;
}

// Appends a DATA frame. Resets the stream if the body can't be completed.
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
  take_window(transfer, size);
  if (last) end_local(transfer);
}

void Sender::take_window(Transfer& transfer, std::size_t size) noexcept {
  window_.take(static_cast<std::uint32_t>(size));
  transfer.stream.send.take(static_cast<std::uint32_t>(size));
}

// Ends a streamed body with trailer fields, or with an empty DATA frame.
void Sender::end_body(Transfer& transfer) {
  std::vector<Field> trailers;
  if (BodySource* const source = transfer.outgoing.source()) {
    trailer_fields(source->trailers(), transfer.arena, trailers);
  }
  if (trailers.empty()) {
    append_frame(last_data(transfer.id), {});
  } else {
    append_block(transfer.id, {.fields = trailers}, true);
  }
  end_local(transfer);
}

// Called when END_STREAM has been sent (RFC 9113, 5.1).
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

// Larger frames would save little and delay other streams.
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
