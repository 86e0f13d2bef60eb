#include "http/h2/frame_sender.h"

#include <algorithm>
#include <cstring>
#include <utility>
#include <vector>

#include "base/assert.h"
#include "http/fields/trailers.h"

namespace h2server::http::h2 {

namespace {

Field date_field(const ResponseHead& head) noexcept { return {"date", head.date}; }

std::size_t bound_of(const ResponseHead& head) noexcept {
  std::size_t bound =
      hpack::Encoder::block_head_bytes_max + hpack::Encoder::bound(date_field(head));
  if (head.prepared != nullptr) {
    for (const Field& field : PreparedHead::common) bound += hpack::Encoder::bound(field);
    bound += head.prepared->bound;
  }
  for (const Field& field : head.fields) bound += hpack::Encoder::bound(field);
  return bound;
}

// Bytes of other fields that are kept, in each connection. Most sites add fewer.
constexpr std::size_t kept_others_max = 512;

// Returns true if `text` consists of these fields, as EncodedHead::others does.
bool holds(std::string_view text, std::span<const Field> fields) noexcept {
  for (const Field& field : fields) {
    for (const std::string_view part : {field.name, field.value}) {
      if (!text.starts_with(part) || text.substr(part.size(), 1) != std::string_view("\0", 1)) {
        return false;
      }
      text.remove_prefix(part.size() + 1);
    }
  }
  return text.empty();
}

constexpr FrameHead last_data(std::uint32_t id) noexcept {
  return {.type = FrameType::data, .flags = flag::end_stream, .stream = id};
}

}  // namespace

// --- frames -----------------------------------------------------------------------------------

void FrameSender::append_frame(FrameHead head, std::string_view payload) {
  head.size = static_cast<std::uint32_t>(payload.size());
  const std::span<char> room = out_.reserve(frame_head_bytes + payload.size());
  write_frame_head(room.data(), head);
  if (!payload.empty()) std::memcpy(room.data() + frame_head_bytes, payload.data(), payload.size());
  out_.commit(room.size());
}

void FrameSender::settings() {
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

void FrameSender::acknowledge_settings() {
  append_frame({.type = FrameType::settings, .flags = flag::ack}, {});
}

void FrameSender::ping(std::string_view payload, bool acknowledges) {
  append_frame({.type = FrameType::ping, .flags = acknowledges ? flag::ack : std::uint8_t{0}},
               payload);
}

void FrameSender::goaway(std::uint32_t last_stream, ErrorCode code) {
  std::array<char, 8> payload;
  write_u32(payload.data(), last_stream);
  write_u32(payload.data() + 4, static_cast<std::uint32_t>(code));
  append_frame({.type = FrameType::goaway}, {payload.data(), payload.size()});
}

void FrameSender::window_update(std::uint32_t id, std::uint32_t increment) {
  std::array<char, 4> payload;
  write_u32(payload.data(), increment);
  append_frame({.type = FrameType::window_update, .stream = id}, {payload.data(), payload.size()});
}

void FrameSender::reset(std::uint32_t id, ErrorCode code) {
  std::array<char, 4> payload;
  write_u32(payload.data(), static_cast<std::uint32_t>(code));
  append_frame({.type = FrameType::rst_stream, .stream = id}, {payload.data(), payload.size()});
}

void FrameSender::reset(H2Exchange& exchange, ErrorCode code) {
  if (exchange.stream.state == Stream::State::closed) return;
  exchange.session.reset = true;
  reset(exchange.id, code);
  // RFC 9113, 5.1: only a peer that has not ended its side may have sent more meanwhile.
  if (exchange.stream.takes_content()) streams_.mark_reset(exchange.id);
  drop(exchange);
}

void FrameSender::drop(H2Exchange& exchange) {
  exchange.stream.has_body = false;
  scheduler_.remove(exchange);
  streams_.close(exchange);
}

// --- heads ------------------------------------------------------------------------------------

// Returns true if encoded_ holds what this head begins with. Once the peer's table has the fields,
// their encoding is a few bytes and stays the same until the table or the date changes.
bool FrameSender::is_encoded(const ResponseHead& head) const noexcept {
  return head.prepared != nullptr && encoded_.size != 0 && head.date_s == encoded_.date_s &&
         encoder_.version() == encoded_.version && holds(encoded_.others, head.fields);
}

void FrameSender::keep_encoded(const ResponseHead& head, std::uint64_t version,
                               std::string_view block) {
  std::size_t others = 0;
  for (const Field& field : head.fields) others += field.name.size() + field.value.size() + 2;
  if (others > kept_others_max || block.size() > encoded_.bytes.size()) return;
  encoded_.size = 0;  // until it is whole
  encoded_.rest_of = 0;
  encoded_.others.clear();
  for (const Field& field : head.fields) {
    encoded_.others.append(field.name).append(1, '\0').append(field.value).append(1, '\0');
  }
  std::ranges::copy(block, encoded_.bytes.data());
  encoded_.version = version;
  encoded_.date_s = head.date_s;
  encoded_.size = static_cast<std::uint8_t>(block.size());
}

char* FrameSender::encode_block(char* to, const ResponseHead& head) {
  const std::uint64_t version = encoder_.version();
  char* end = encoder_.begin_block(to);
  const auto encode = [&](std::span<const Field> fields) {
    for (const Field& field : fields) end = encoder_.encode(end, field.name, field.value);
  };
  if (head.prepared != nullptr) encode(PreparedHead::common);
  encode(head.fields);
  if (!head.date.empty()) end = encoder_.encode(end, "date", head.date);
  if (head.prepared == nullptr) return end;
  if (encoder_.version() == version) keep_encoded(head, version, {to, end});
  return encode_prepared(end, *head.prepared);
}

char* FrameSender::encode_prepared(char* to, const PreparedHead& head) {
  for (const hpack::HashedField& field : head.shared) to = encoder_.encode(to, field);
  return encoder_.encode(to, head.own);
}

// Writes the rest of a block that begins with the kept bytes. A client often asks for the file
// again that it had last.
char* FrameSender::encode_after_kept(char* block, const PreparedHead& head) {
  if (encoded_.rest_of == head.own.id) return block + encoded_.whole_size;
  char* const end = encode_prepared(block + encoded_.size, head);
  if (std::exchange(encoded_.last, head.own.id) != head.own.id) return end;  // most files differ
  const auto size = static_cast<std::size_t>(end - block);
  if (encoder_.version() == encoded_.version && size <= encoded_.bytes.size()) {
    std::memcpy(encoded_.bytes.data(), block, size);
    encoded_.whole_size = static_cast<std::uint8_t>(size);
    encoded_.rest_of = head.own.id;
  }
  return end;
}

// Appends HEADERS with the whole field block if it fits into a frame (RFC 9113, 6.2), and DATA with
// END_STREAM if there is `content`.
void FrameSender::append_block(std::uint32_t id, const ResponseHead& head, bool ends,
                               std::string_view content) {
  const bool encoded = is_encoded(head);
  const std::size_t bound = encoded ? encoded_.bytes.size() + head.prepared->bound : bound_of(head);
  if (bound > default_frame_bytes) {
    append_large_block(id, head, ends);
    if (!content.empty()) append_frame(last_data(id), content);
    return;
  }
  const std::span<char> room = out_.reserve(2 * frame_head_bytes + bound + content.size());
  char* const block = room.data() + frame_head_bytes;
  char* end = nullptr;
  if (encoded) {
    std::memcpy(block, encoded_.bytes.data(), encoded_.bytes.size());  // a constant size
    end = encode_after_kept(block, *head.prepared);
  } else {
    end = encode_block(block, head);
  }
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
void FrameSender::append_large_block(std::uint32_t id, const ResponseHead& head, bool ends) {
  std::string block(bound_of(head), '\0');
  block.resize(static_cast<std::size_t>(encode_block(block.data(), head) - block.data()));
  std::string_view rest = block;
  FrameHead frame{
      .type = FrameType::headers, .flags = ends ? flag::end_stream : std::uint8_t{0}, .stream = id};
  do {
    const std::string_view part = rest.substr(0, default_frame_bytes);
    rest.remove_prefix(part.size());
    if (rest.empty()) frame.flags |= flag::end_headers;
    append_frame(frame, part);
    frame = {.type = FrameType::continuation, .stream = id};
  } while (!rest.empty());
}

void FrameSender::respond(H2Exchange& exchange, const ResponseHead& head, bool has_body) {
  Stream& stream = exchange.stream;
  if (!stream.may_send()) return;  // already reset
  ASSERT(!stream.responded);
  stream.responded = true;
  const std::string_view content = has_body ? content_at_once(exchange) : std::string_view();
  append_block(exchange.id, head, !has_body, content);
  if (!has_body) {
    end_local(exchange);
    return;
  }
  stream.has_body = true;
  if (content.empty()) {
    schedule(exchange);
    return;
  }
  take_window(exchange, content.size());
  exchange.outgoing.finish();
  end_local(exchange);
}

void FrameSender::inform(H2Exchange& exchange, std::span<const Field> fields) {
  if (!exchange.stream.may_send() || exchange.stream.responded) return;
  append_block(exchange.id, {.fields = fields}, false);
}

// --- bodies -----------------------------------------------------------------------------------

// Returns a small body that can leave with its head because no other stream waits to send, or
// nothing. Most bodies never enter the scheduler.
std::string_view FrameSender::content_at_once(const H2Exchange& exchange) const noexcept {
  if (scheduler_.first() != nullptr || out_.size() > limits_.copied_bytes_max) return {};
  return exchange.outgoing.whole(
      std::min<std::size_t>({limits_.inline_file_bytes_max, default_frame_bytes, window_.left(),
                             exchange.stream.send.left()}));
}

// Adds the stream to the scheduler if it has something to send and its window allows it.
void FrameSender::schedule(H2Exchange& exchange) {
  const Stream& stream = exchange.stream;
  if (!stream.has_body || stream.ready || exchange.session.stalled) return;
  const OutgoingBody& body = exchange.outgoing;
  if (stream.send.left() == 0 && !body.finished() && !body.lacks_only_its_end()) return;
  scheduler_.add(exchange);
}

void FrameSender::body_offered(H2Exchange& exchange) {
  exchange.session.stalled = false;
  if (exchange.stream.may_send()) schedule(exchange);
}

void FrameSender::produce(std::size_t bytes_max) {
  while (out_.size() + frame_head_bytes < bytes_max) {
    H2Exchange* const exchange = scheduler_.first();
    const std::size_t room = bytes_max - out_.size() - frame_head_bytes;
    if (exchange == nullptr || !send_data(*exchange, room)) return;
  }
}

// Sends one frame of the body, with at most `room` bytes, or removes the stream from the scheduler.
// Returns false if nothing can be sent now.
bool FrameSender::send_data(H2Exchange& exchange, std::size_t room) {
  OutgoingBody& body = exchange.outgoing;
  if (body.finished()) {  // the source's end was offered
    end_body(exchange);
    return true;
  }
  if (body.lacks_only_its_end()) {  // which needs no window
    want_body(exchange);
    return true;
  }
  if (window_.left() == 0) return false;
  const std::size_t size = body.next_size(std::min<std::size_t>(
      {window_.left(), exchange.stream.send.left(), scheduler_.turn_left(exchange), room}));
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
void FrameSender::want_body(H2Exchange& exchange) noexcept {
  exchange.session.stalled = true;
  scheduler_.remove(exchange);
  streams_.notify(exchange);
}

// Appends a DATA frame. Resets the stream if the body can't be completed.
void FrameSender::append_data(H2Exchange& exchange, std::size_t size) {
  const bool last = exchange.outgoing.ends_after(size);
  std::array<char, frame_head_bytes> head;
  write_frame_head(head.data(), {.size = static_cast<std::uint32_t>(size),
                                 .type = FrameType::data,
                                 .flags = last ? flag::end_stream : std::uint8_t{0},
                                 .stream = exchange.id});
  if (!exchange.outgoing.append(out_, {head.data(), head.size()}, size)) {
    reset(exchange, ErrorCode::internal_error);
    return;
  }
  take_window(exchange, size);
  if (last) end_local(exchange);
}

void FrameSender::take_window(H2Exchange& exchange, std::size_t size) noexcept {
  window_.take(static_cast<std::uint32_t>(size));
  exchange.stream.send.take(static_cast<std::uint32_t>(size));
}

// Ends a streamed body with trailer fields, or with an empty DATA frame.
void FrameSender::end_body(H2Exchange& exchange) {
  std::vector<Field> trailers;
  if (BodySource* const source = exchange.outgoing.source()) {
    trailer_fields(source->trailers(), exchange.arena, trailers);
  }
  if (trailers.empty()) {
    append_frame(last_data(exchange.id), {});
  } else {
    append_block(exchange.id, {.fields = trailers}, true);
  }
  end_local(exchange);
}

// Called when END_STREAM has been sent (RFC 9113, 5.1).
void FrameSender::end_local(H2Exchange& exchange) {
  Stream& stream = exchange.stream;
  scheduler_.remove(exchange);
  stream.has_body = false;
  if (stream.state == Stream::State::half_closed_remote) {
    streams_.close(exchange);
  } else {
    stream.state = Stream::State::half_closed_local;
  }
}

// --- what the peer allows ---------------------------------------------------------------------

bool FrameSender::set_initial_window(std::uint32_t bytes) {
  const std::int64_t change = std::int64_t{bytes} - initial_window_;
  initial_window_ = bytes;
  bool good = true;
  streams_.for_each([&](H2Exchange& exchange) {
    good = exchange.stream.send.add(change) && good;
    schedule(exchange);
  });
  return good;
}

bool FrameSender::widen(H2Exchange& exchange, std::uint32_t increment) {
  if (!exchange.stream.send.add(increment)) return false;
  schedule(exchange);
  return true;
}

void FrameSender::set_priority(H2Exchange& exchange, Priority priority) {
  const bool ready = exchange.stream.ready;
  if (ready) scheduler_.remove(exchange);
  exchange.stream.priority = priority;
  if (ready) scheduler_.add(exchange);
}

}  // namespace h2server::http::h2
