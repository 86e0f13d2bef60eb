// HTTP/2 protocol with libnghttp2: as many concurrent exchanges as both ends allow.
#include <nghttp2/nghttp2.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <string>
#include <vector>

#include "base/assert.h"
#include "load/protocol.h"

namespace h2server::lab::load {

namespace {

struct FreeSession {
  void operator()(nghttp2_session* session) const noexcept { nghttp2_session_del(session); }
};

class H2Protocol final : public Protocol {
 public:
  H2Protocol(RequestPlan& plan, ProtocolUser& user, const StreamOptions& options);

  void begin() override;
  bool ready() const noexcept override { return ready_; }
  std::size_t room() const noexcept override;
  std::size_t under_way() const noexcept override { return slots_.size() - free_.size(); }
  void submit(const Exchange& exchange, base::BufferChain& out) override;
  ErrorKind receive(std::string_view bytes) override;
  ErrorKind produce(base::BufferChain& out) override;
  ErrorKind end() override;
  void fail(ErrorKind error) override;
  bool over() const noexcept override { return going_away_ && under_way() == 0; }

 private:
  struct Slot {
    Exchange exchange;
    Upload upload;
    std::int32_t stream = 0;
    int status = 0;
    std::uint64_t body_bytes = 0;
    bool answered = false;  // the response is complete
    bool busy = false;
  };

  static const nghttp2_session_callbacks* callbacks();
  static Slot* slot_of(nghttp2_session* session, std::int32_t stream) noexcept;
  static int on_header(nghttp2_session* session, const nghttp2_frame* frame,
                       const std::uint8_t* name, std::size_t name_size, const std::uint8_t* value,
                       std::size_t value_size, std::uint8_t flags, void* self);
  static int on_data(nghttp2_session* session, std::uint8_t flags, std::int32_t stream,
                     const std::uint8_t* data, std::size_t size, void* self);
  static int on_frame(nghttp2_session* session, const nghttp2_frame* frame, void* self);
  static int on_close(nghttp2_session* session, std::int32_t stream, std::uint32_t code,
                      void* self);
  static ssize_t read_upload(nghttp2_session* session, std::int32_t stream, std::uint8_t* room,
                             std::size_t size, std::uint32_t* flags, nghttp2_data_source* source,
                             void* self);
  static int send_upload(nghttp2_session* session, nghttp2_frame* frame, const std::uint8_t* head,
                         std::size_t size, nghttp2_data_source* source, void* self);

  void validate(Slot& slot, ErrorKind error);

  RequestPlan& plan_;
  ProtocolUser& user_;
  const StreamOptions options_;
  std::unique_ptr<nghttp2_session, FreeSession> session_;
  std::vector<Slot> slots_;
  std::vector<Slot*> free_;
  base::BufferChain* out_ = nullptr;  // only while nghttp2 sends
  bool ready_ = false;                // the server's SETTINGS have arrived
  bool going_away_ = false;
};

std::string_view text_of(const std::uint8_t* data, std::size_t size) noexcept {
  return {reinterpret_cast<const char*>(data), size};
}

// The texts must outlive the call that takes the field. nghttp2 does not copy the name.
nghttp2_nv field(std::string_view name, std::string_view value) noexcept {
  const auto bytes = [](std::string_view text) {
    return const_cast<std::uint8_t*>(reinterpret_cast<const std::uint8_t*>(text.data()));
  };
  return {bytes(name), bytes(value), name.size(), value.size(), NGHTTP2_NV_FLAG_NO_COPY_NAME};
}

H2Protocol::H2Protocol(RequestPlan& plan, ProtocolUser& user, const StreamOptions& options)
    : plan_(plan), user_(user), options_(options), slots_(options.streams) {
  for (Slot& slot : slots_) free_.push_back(&slot);
  nghttp2_session* made = nullptr;
  const int failure = nghttp2_session_client_new(&made, callbacks(), this);
  ASSERT(failure == 0);  // fails only without memory
  session_.reset(made);
}

const nghttp2_session_callbacks* H2Protocol::callbacks() {
  using Callbacks =
      std::unique_ptr<nghttp2_session_callbacks, decltype(&nghttp2_session_callbacks_del)>;
  static const Callbacks made = [] {
    nghttp2_session_callbacks* table = nullptr;
    const int failure = nghttp2_session_callbacks_new(&table);
    ASSERT(failure == 0);
    nghttp2_session_callbacks_set_on_header_callback(table, on_header);
    nghttp2_session_callbacks_set_on_data_chunk_recv_callback(table, on_data);
    nghttp2_session_callbacks_set_on_frame_recv_callback(table, on_frame);
    nghttp2_session_callbacks_set_on_stream_close_callback(table, on_close);
    nghttp2_session_callbacks_set_send_data_callback(table, send_upload);
    return Callbacks(table, nghttp2_session_callbacks_del);
  }();
  return made.get();
}

void H2Protocol::begin() {
  const std::uint32_t window = (1U << options_.window_bits) - 1;
  const std::array<nghttp2_settings_entry, 2> settings{{
      {NGHTTP2_SETTINGS_ENABLE_PUSH, 0},
      {NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, window},
  }};
  int failure =
      nghttp2_submit_settings(session_.get(), NGHTTP2_FLAG_NONE, settings.data(), settings.size());
  ASSERT(failure == 0);
  // The connection's window starts at 65 535 and cannot be smaller.
  failure = nghttp2_session_set_local_window_size(session_.get(), NGHTTP2_FLAG_NONE, 0,
                                                  static_cast<std::int32_t>(window));
  ASSERT(failure == 0);
}

std::size_t H2Protocol::room() const noexcept {
  if (!ready_ || going_away_) return 0;
  const std::size_t allowed =
      nghttp2_session_get_remote_settings(session_.get(), NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS);
  const std::size_t busy = under_way();
  return std::min(allowed, slots_.size()) - std::min({allowed, slots_.size(), busy});
}

void H2Protocol::submit(const Exchange& exchange, base::BufferChain&) {
  ASSERT(room() > 0);
  Slot& slot = *free_.back();
  free_.pop_back();
  slot.exchange = exchange;
  slot.status = 0;
  slot.body_bytes = 0;
  slot.answered = false;
  slot.busy = true;
  const RequestSpec& spec = plan_.spec();
  const std::string path = plan_.path(exchange.number);
  std::array<nghttp2_nv, 7> fields{field(":method", spec.method), field(":scheme", spec.scheme),
                                   field(":authority", spec.authority), field(":path", path),
                                   field("user-agent", "h2server-lab")};
  std::size_t count = 5;
  nghttp2_data_provider body{};
  std::string length;
  if (spec.has_upload) {
    slot.upload = plan_.upload(exchange.number);
    length = std::to_string(slot.upload.size());
    fields[count++] = field("content-type", plan_.content_type());
    fields[count++] = field("content-length", length);
    body.source.ptr = &slot;
    body.read_callback = read_upload;
  }
  slot.stream = nghttp2_submit_request(session_.get(), nullptr, fields.data(), count,
                                       spec.has_upload ? &body : nullptr, &slot);
  // 2^30 requests exhaust the stream identifiers, more than a connection here gets.
  ASSERT(slot.stream > 0);
}

ErrorKind H2Protocol::receive(std::string_view bytes) {
  const ssize_t taken = nghttp2_session_mem_recv(
      session_.get(), reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size());
  return taken < 0 ? ErrorKind::malformed : ErrorKind::none;
}

// After a protocol error of the peer nghttp2 sends GOAWAY and then wants neither to read nor to
// write. The same state follows a GOAWAY of the peer when all streams are done.
ErrorKind H2Protocol::produce(base::BufferChain& out) {
  out_ = &out;
  while (out.size() < out_bytes_max) {
    const std::uint8_t* bytes = nullptr;
    const ssize_t size = nghttp2_session_mem_send(session_.get(), &bytes);
    ASSERT(size >= 0);
    if (size == 0) break;
    out.append(text_of(bytes, static_cast<std::size_t>(size)));
  }
  out_ = nullptr;
  const bool ended = nghttp2_session_want_read(session_.get()) == 0 &&
                     nghttp2_session_want_write(session_.get()) == 0;
  return ended && !over() ? ErrorKind::malformed : ErrorKind::none;
}

ErrorKind H2Protocol::end() {
  going_away_ = true;
  return under_way() == 0 ? ErrorKind::none : ErrorKind::closed;
}

void H2Protocol::fail(ErrorKind error) {
  going_away_ = true;
  for (Slot& slot : slots_) {
    if (!slot.busy) continue;
    // A response that has begun is truncated, not missing.
    const bool begun = slot.status != 0 && error == ErrorKind::closed;
    validate(slot, begun ? ErrorKind::truncated : error);
  }
}

void H2Protocol::validate(Slot& slot, ErrorKind error) {
  slot.busy = false;
  free_.push_back(&slot);
  const Exchange exchange = slot.exchange;
  const Outcome outcome{.error = error,
                        .status = slot.status,
                        .body_bytes_in = slot.body_bytes,
                        .body_bytes_out = slot.upload.sent()};
  user_.on_outcome(exchange, outcome);
}

H2Protocol::Slot* H2Protocol::slot_of(nghttp2_session* session, std::int32_t stream) noexcept {
  return static_cast<Slot*>(nghttp2_session_get_stream_user_data(session, stream));
}

int H2Protocol::on_header(nghttp2_session* session, const nghttp2_frame* frame,
                          const std::uint8_t* name, std::size_t name_size,
                          const std::uint8_t* value, std::size_t value_size, std::uint8_t, void*) {
  if (name[0] != ':' || text_of(name, name_size) != ":status") return 0;
  Slot* const slot = slot_of(session, frame->hd.stream_id);
  if (slot == nullptr) return 0;
  const std::string_view digits = text_of(value, value_size);
  std::from_chars(digits.data(), digits.data() + digits.size(), slot->status);
  return 0;
}

int H2Protocol::on_data(nghttp2_session* session, std::uint8_t, std::int32_t stream,
                        const std::uint8_t*, std::size_t size, void*) {
  Slot* const slot = slot_of(session, stream);
  if (slot != nullptr) slot->body_bytes += size;
  return 0;
}

int H2Protocol::on_frame(nghttp2_session* session, const nghttp2_frame* frame, void* self) {
  auto& protocol = *static_cast<H2Protocol*>(self);
  const auto type = frame->hd.type;  // nghttp2 handles all others
  if (type == NGHTTP2_SETTINGS && (frame->hd.flags & NGHTTP2_FLAG_ACK) == 0) {
    protocol.ready_ = true;
  } else if (type == NGHTTP2_GOAWAY) {
    protocol.going_away_ = true;
  } else if (type == NGHTTP2_HEADERS || type == NGHTTP2_DATA) {
    Slot* const slot = slot_of(session, frame->hd.stream_id);
    const bool last = (frame->hd.flags & NGHTTP2_FLAG_END_STREAM) != 0;
    if (slot != nullptr && last) slot->answered = true;
  }
  return 0;
}

int H2Protocol::on_close(nghttp2_session* session, std::int32_t stream, std::uint32_t code,
                         void* self) {
  Slot* const slot = slot_of(session, stream);
  if (slot == nullptr) return 0;
  auto& protocol = *static_cast<H2Protocol*>(self);
  ErrorKind error = ErrorKind::none;
  if (code == NGHTTP2_REFUSED_STREAM) {
    error = ErrorKind::refused;
  } else if (!slot->answered || (code != NGHTTP2_NO_ERROR)) {
    error = ErrorKind::reset;
  } else if (slot->upload.left() > 0) {
    error = ErrorKind::early;
  }
  protocol.validate(*slot, error);
  return 0;
}

ssize_t H2Protocol::read_upload(nghttp2_session*, std::int32_t, std::uint8_t*, std::size_t size,
                                std::uint32_t* flags, nghttp2_data_source* source, void*) {
  const std::uint64_t left = static_cast<Slot*>(source->ptr)->upload.left();
  *flags |= NGHTTP2_DATA_FLAG_NO_COPY;
  if (left <= size) *flags |= NGHTTP2_DATA_FLAG_EOF;
  return static_cast<ssize_t>(std::min<std::uint64_t>(left, size));
}

int H2Protocol::send_upload(nghttp2_session*, nghttp2_frame* frame, const std::uint8_t* head,
                            std::size_t size, nghttp2_data_source* source, void* self) {
  ASSERT(frame->data.padlen == 0);  // padding is not configured
  constexpr std::size_t frame_head_bytes = 9;
  base::BufferChain& out = *static_cast<H2Protocol*>(self)->out_;
  Upload& upload = static_cast<Slot*>(source->ptr)->upload;
  out.append(text_of(head, frame_head_bytes));
  while (size > 0) {
    const Upload::Piece piece = upload.take(size);
    if (piece.lasting) {
      out.append_shared(piece.bytes, nullptr);
    } else {
      out.append(piece.bytes);
    }
    size -= piece.bytes.size();
  }
  return 0;
}

}  // namespace

std::unique_ptr<Protocol> make_h2(RequestPlan& plan, ProtocolUser& user,
                                  const StreamOptions& options) {
  return std::make_unique<H2Protocol>(plan, user, options);
}

}  // namespace h2server::lab::load
