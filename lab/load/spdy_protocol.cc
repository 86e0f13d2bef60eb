// SPDY/3.1 protocol: as many concurrent exchanges as both ends allow. Frames and header blocks are
// those of the server, lab/spdy.
//
// Begins with SETTINGS and waits for the server's, as with HTTP/2. SPDY leaves them optional, but
// the servers in use send them, and only they tell how many streams are allowed.
#include <algorithm>
#include <array>
#include <charconv>
#include <deque>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/assert.h"
#include "http/h2/flow.h"
#include "load/protocol.h"
#include "spdy/frame.h"
#include "spdy/header_block.h"

namespace h2server::lab::load {

namespace {

using http::h2::SendWindow;
using spdy::FrameReader;
using spdy::FrameType;
using spdy::SessionStatus;
using spdy::StreamStatus;

constexpr std::size_t control_bytes_max = 256 * 1024;  // of the server's frames
constexpr std::size_t block_bytes_max = 1024 * 1024;
constexpr std::size_t data_bytes_max = 16 * 1024;  // of our frames, as HTTP/2's
constexpr std::size_t fixed_bytes = 4;             // before a header block: the stream

// What the server may send. It is announced anew when half is used, as libnghttp2 does.
class Allowance {
 public:
  explicit Allowance(std::uint32_t bytes = 0) noexcept : size_(bytes), left_(bytes) {}
  // Returns false if the server exceeds it. Sets `delta` to what must be announced, if anything.
  [[nodiscard]] bool take(std::uint32_t bytes, std::uint32_t& delta) noexcept {
    if (bytes > left_) return false;
    left_ -= bytes;
    delta = left_ < size_ / 2 ? size_ - left_ : 0;
    left_ += delta;
    return true;
  }

 private:
  std::uint32_t size_;
  std::uint32_t left_;
};

class SpdyProtocol final : public Protocol {
 public:
  SpdyProtocol(RequestPlan& plan, ProtocolUser& user, const StreamOptions& options);

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
    SendWindow send;
    Allowance allowance;
    std::uint32_t stream = 0;
    int status = 0;
    std::uint64_t body_bytes = 0;
    bool answered = false;  // the response is complete
    bool busy = false;
  };

  void on_control(std::string_view payload);
  void on_data(std::string_view bytes);
  void on_data_end();
  void on_block(std::string_view payload, std::size_t before);
  void on_reply(Slot& slot, bool well_formed);
  void on_rst_stream(std::string_view payload);
  void on_settings(std::string_view payload);
  void on_goaway(std::string_view payload);
  void on_window_update(std::string_view payload);
  void end_response(Slot& slot);
  bool demand(bool legal, SessionStatus status = SessionStatus::protocol_error);
  void reset(Slot& slot, StreamStatus status, ErrorKind error);
  void validate(Slot& slot, ErrorKind error);
  void send_uploads(base::BufferChain& out);
  void append_upload(Slot& slot, std::size_t size, base::BufferChain& out);
  [[nodiscard]] Slot* slot_of(std::uint32_t stream) const noexcept;

  RequestPlan& plan_;
  ProtocolUser& user_;
  const std::uint32_t window_bytes_;
  FrameReader reader_{control_bytes_max};
  spdy::Compressor compressor_;
  spdy::Decompressor decompressor_;
  std::vector<Slot> slots_;
  std::vector<Slot*> free_;
  std::unordered_map<std::uint32_t, Slot*> streams_;
  std::deque<Slot*> uploading_;                  // they have content to send; the first one is next
  base::BufferChain pending_;                    // frames before those of uploads
  SendWindow send_{spdy::default_window_bytes};  // of the connection
  Allowance allowance_;                          // of the connection
  std::uint32_t initial_send_ = spdy::default_window_bytes;
  std::uint32_t streams_max_ = UINT32_MAX;  // the server's
  std::uint32_t next_stream_ = 1;
  std::string block_;
  std::vector<Field> pairs_;
  bool ready_ = false;       // the server's SETTINGS have arrived
  bool going_away_ = false;  // no more streams
  bool broken_ = false;      // the server has violated the protocol
};

SpdyProtocol::SpdyProtocol(RequestPlan& plan, ProtocolUser& user, const StreamOptions& options)
    : plan_(plan),
      user_(user),
      window_bytes_((1U << options.window_bits) - 1),
      slots_(options.streams),
      allowance_(std::max(window_bytes_, spdy::default_window_bytes)) {
  for (Slot& slot : slots_) free_.push_back(&slot);
}

// The connection's window starts at 64 KiB and cannot be smaller.
void SpdyProtocol::begin() {
  const std::array<spdy::SettingLine, 1> lines = {
      {{spdy::Setting::initial_window_size, window_bytes_}}};
  spdy::append_settings(pending_, lines);
  if (window_bytes_ <= spdy::default_window_bytes) return;
  spdy::append_window_update(pending_, 0, window_bytes_ - spdy::default_window_bytes);
}

std::size_t SpdyProtocol::room() const noexcept {
  if (!ready_ || going_away_) return 0;
  const std::size_t allowed = std::min<std::size_t>(streams_max_, slots_.size());
  return allowed - std::min(allowed, under_way());
}

SpdyProtocol::Slot* SpdyProtocol::slot_of(std::uint32_t stream) const noexcept {
  const auto found = streams_.find(stream);
  return found != streams_.end() ? found->second : nullptr;
}

void SpdyProtocol::submit(const Exchange& exchange, base::BufferChain&) {
  ASSERT(room() > 0);
  Slot& slot = *free_.back();
  free_.pop_back();
  // 2^30 requests exhaust the stream identifiers, more than a connection here gets.
  ASSERT(next_stream_ <= spdy::largest_stream);
  slot = {.exchange = exchange,
          .upload = {},
          .send = SendWindow(initial_send_),
          .allowance = Allowance(window_bytes_),
          .stream = next_stream_,
          .busy = true};
  next_stream_ += 2;
  streams_.emplace(slot.stream, &slot);
  const RequestSpec& spec = plan_.spec();
  const std::string path = plan_.path(exchange.number);
  std::string length;
  std::array<Field, 8> fields{{{":method", spec.method},
                               {":path", path},
                               {":version", "HTTP/1.1"},
                               {":host", spec.authority},
                               {":scheme", spec.scheme},
                               {"user-agent", "h2server-lab"}}};
  std::size_t count = 6;
  if (spec.has_upload) {
    slot.upload = plan_.upload(exchange.number);
    length = std::to_string(slot.upload.size());
    fields[count++] = {"content-type", plan_.content_type()};
    fields[count++] = {"content-length", length};
  }
  const bool sends = slot.upload.left() > 0;
  if (sends) uploading_.push_back(&slot);
  spdy::write_block(std::span(fields).first(count), block_);
  std::array<char, 10> fixed{};
  spdy::write_u32(fixed.data(), slot.stream);
  constexpr unsigned priority = 3;  // as HTTP/2's default urgency (RFC 9218, 4.1)
  fixed[8] = static_cast<char>(priority << 5);
  spdy::append_control(pending_, FrameType::syn_stream, sends ? std::uint8_t{0} : spdy::flag::fin,
                       {fixed.data(), fixed.size()}, compressor_.compress(block_));
}

// --- input ------------------------------------------------------------------------------------

// Errors are reported by produce(), after the GOAWAY.
ErrorKind SpdyProtocol::receive(std::string_view bytes) {
  reader_.add(bytes);
  while (!broken_) {
    switch (reader_.next()) {
      case FrameReader::Step::none:
        return ErrorKind::none;
      case FrameReader::Step::control:
        if (demand(reader_.head().version == spdy::version)) on_control(reader_.bytes());
        break;
      case FrameReader::Step::data:
        on_data(reader_.bytes());
        break;
      case FrameReader::Step::data_end:
        on_data_end();
        break;
      case FrameReader::Step::too_large:
        demand(false);
        break;
    }
  }
  return ErrorKind::none;
}

// Returns `legal`. Otherwise the server has violated the protocol, and the connection ends.
bool SpdyProtocol::demand(bool legal, SessionStatus status) {
  if (legal || broken_) return legal;
  broken_ = true;
  spdy::append_goaway(pending_, 0, status);
  return false;
}

void SpdyProtocol::on_control(std::string_view payload) {
  switch (reader_.head().type) {
    case FrameType::syn_stream:  // a pushed stream: not wanted
      on_block(payload, 10);
      if (broken_) return;
      spdy::append_rst_stream(pending_, spdy::read_u31(payload.data()),
                              StreamStatus::refused_stream);
      return;
    case FrameType::syn_reply:
    case FrameType::headers:
      on_block(payload, fixed_bytes);
      return;
    case FrameType::rst_stream:
      on_rst_stream(payload);
      return;
    case FrameType::settings:
      on_settings(payload);
      return;
    case FrameType::ping:  // even numbers are the server's
      if (!demand(payload.size() == 4)) return;
      if (spdy::read_u32(payload.data()) % 2 == 0) {
        spdy::append_ping(pending_, spdy::read_u32(payload.data()));
      }
      return;
    case FrameType::goaway:
      on_goaway(payload);
      return;
    case FrameType::window_update:
      on_window_update(payload);
      return;
  }
}

// Decompresses every block, since later ones depend on it. `before` bytes precede it.
void SpdyProtocol::on_block(std::string_view payload, std::size_t before) {
  if (!demand(payload.size() >= before)) return;
  const auto verdict = decompressor_.decompress(payload.substr(before), block_bytes_max, block_);
  if (!demand(verdict == spdy::Decompressor::Verdict::good)) return;
  if (reader_.head().type == FrameType::syn_stream) return;
  Slot* const slot = slot_of(spdy::read_u31(payload.data()));
  if (slot == nullptr) return;  // it was reset
  const bool well_formed = spdy::read_block(block_, pairs_);
  if (reader_.head().type == FrameType::syn_reply) {
    on_reply(*slot, well_formed);
  } else if (reader_.head().has(spdy::flag::fin)) {
    end_response(*slot);
  }
}

// SPDY, 3.2.2: the status and the version must be there, and 2.6.2: once.
void SpdyProtocol::on_reply(Slot& slot, bool well_formed) {
  if (slot.status != 0) {
    reset(slot, StreamStatus::stream_in_use, ErrorKind::malformed);
    return;
  }
  bool versioned = false;
  for (const Field& pair : pairs_) {
    versioned |= pair.name == ":version";
    if (pair.name != ":status") continue;
    std::from_chars(pair.value.data(), pair.value.data() + pair.value.size(), slot.status);
  }
  if (!well_formed || !versioned || slot.status == 0) {
    reset(slot, StreamStatus::protocol_error, ErrorKind::malformed);
  } else if (reader_.head().has(spdy::flag::fin)) {
    end_response(slot);
  }
}

void SpdyProtocol::on_data(std::string_view bytes) {
  const auto size = static_cast<std::uint32_t>(bytes.size());
  std::uint32_t delta = 0;
  if (!demand(allowance_.take(size, delta), SessionStatus::flow_control_error)) return;
  if (delta > 0) spdy::append_window_update(pending_, 0, delta);
  Slot* const slot = slot_of(reader_.head().stream);
  if (slot == nullptr) return;  // it was reset
  if (slot->status == 0) {
    reset(*slot, StreamStatus::protocol_error, ErrorKind::malformed);
    return;
  }
  if (!slot->allowance.take(size, delta)) {
    reset(*slot, StreamStatus::flow_control_error, ErrorKind::malformed);
    return;
  }
  if (delta > 0) spdy::append_window_update(pending_, slot->stream, delta);
  slot->body_bytes += size;
}

void SpdyProtocol::on_data_end() {
  Slot* const slot = slot_of(reader_.head().stream);
  if (slot != nullptr && reader_.head().has(spdy::flag::fin)) end_response(*slot);
}

// A server may answer before it has the whole upload, and still take the rest.
void SpdyProtocol::end_response(Slot& slot) {
  slot.answered = true;
  if (slot.upload.left() == 0) validate(slot, ErrorKind::none);
}

void SpdyProtocol::on_rst_stream(std::string_view payload) {
  if (!demand(payload.size() == 8)) return;
  Slot* const slot = slot_of(spdy::read_u31(payload.data()));
  if (slot == nullptr) return;
  const auto status = static_cast<StreamStatus>(spdy::read_u32(payload.data() + 4));
  ErrorKind error = ErrorKind::reset;
  if (status == StreamStatus::refused_stream) error = ErrorKind::refused;
  if (status == StreamStatus::cancel && slot->answered) error = ErrorKind::early;
  validate(*slot, error);
}

void SpdyProtocol::on_settings(std::string_view payload) {
  bool legal = true;
  const bool whole = spdy::read_settings(payload, [&](spdy::Setting setting, std::uint32_t value) {
    if (setting == spdy::Setting::max_concurrent_streams) streams_max_ = value;
    if (setting != spdy::Setting::initial_window_size) return;
    legal = value <= spdy::largest_window_bytes;
    if (!legal) return;
    const std::int64_t change = std::int64_t{value} - initial_send_;
    initial_send_ = value;
    for (const auto& [stream, slot] : streams_) legal = slot->send.add(change) && legal;
  });
  demand(whole && legal);
  ready_ = true;
}

// Streams above the last good one were not processed.
void SpdyProtocol::on_goaway(std::string_view payload) {
  if (!demand(payload.size() == 8)) return;
  going_away_ = true;
  const std::uint32_t last = spdy::read_u31(payload.data());
  for (Slot& slot : slots_) {
    if (slot.busy && slot.stream > last) validate(slot, ErrorKind::refused);
  }
}

void SpdyProtocol::on_window_update(std::string_view payload) {
  if (!demand(payload.size() == 8)) return;
  const std::uint32_t stream = spdy::read_u31(payload.data());
  const std::uint32_t delta = spdy::read_u31(payload.data() + 4);
  if (stream == 0) {
    demand(delta > 0 && send_.add(delta), SessionStatus::flow_control_error);
    return;
  }
  Slot* const slot = slot_of(stream);
  if (slot == nullptr || (delta > 0 && slot->send.add(delta))) return;
  reset(*slot, StreamStatus::flow_control_error, ErrorKind::malformed);
}

// --- output -----------------------------------------------------------------------------------

// The end of an upload may begin another exchange.
ErrorKind SpdyProtocol::produce(base::BufferChain& out) {
  do {
    while (!pending_.empty()) {
      const std::string_view bytes = pending_.front();
      out.append(bytes);
      pending_.consume(bytes.size());
    }
    if (broken_) return ErrorKind::malformed;
    send_uploads(out);
  } while (!pending_.empty());
  return ErrorKind::none;
}

// The uploads take turns.
void SpdyProtocol::send_uploads(base::BufferChain& out) {
  std::size_t blocked = 0;  // uploads in a row whose windows are closed
  while (blocked < uploading_.size() && out.size() < out_bytes_max && send_.left() > 0) {
    Slot& slot = *uploading_.front();
    uploading_.pop_front();
    const auto size = static_cast<std::size_t>(std::min<std::uint64_t>(
        {slot.upload.left(), slot.send.left(), send_.left(), data_bytes_max}));
    blocked = size > 0 ? 0 : blocked + 1;
    if (size > 0) append_upload(slot, size, out);
    if (slot.upload.left() > 0) {
      uploading_.push_back(&slot);
    } else if (slot.answered) {
      validate(slot, ErrorKind::none);
    }
  }
}

void SpdyProtocol::append_upload(Slot& slot, std::size_t size, base::BufferChain& out) {
  const bool last = size == slot.upload.left();
  std::array<char, spdy::frame_head_bytes> head;
  spdy::write_data_head(head.data(), slot.stream, last ? spdy::flag::fin : std::uint8_t{0}, size);
  out.append({head.data(), head.size()});
  send_.take(static_cast<std::uint32_t>(size));
  slot.send.take(static_cast<std::uint32_t>(size));
  while (size > 0) {
    const Upload::Piece piece = slot.upload.take(size);
    if (piece.lasting) {
      out.append_shared(piece.bytes, nullptr);
    } else {
      out.append(piece.bytes);
    }
    size -= piece.bytes.size();
  }
}

void SpdyProtocol::reset(Slot& slot, StreamStatus status, ErrorKind error) {
  spdy::append_rst_stream(pending_, slot.stream, status);
  validate(slot, error);
}

ErrorKind SpdyProtocol::end() {
  going_away_ = true;
  return under_way() == 0 ? ErrorKind::none : ErrorKind::closed;
}

void SpdyProtocol::fail(ErrorKind error) {
  going_away_ = true;
  for (Slot& slot : slots_) {
    if (!slot.busy) continue;
    // A response that has begun is truncated, not missing.
    const bool begun = slot.status != 0 && error == ErrorKind::closed;
    validate(slot, begun ? ErrorKind::truncated : error);
  }
}

void SpdyProtocol::validate(Slot& slot, ErrorKind error) {
  slot.busy = false;
  streams_.erase(slot.stream);
  std::erase(uploading_, &slot);
  free_.push_back(&slot);
  const Exchange exchange = slot.exchange;
  const Outcome outcome{.error = error,
                        .status = slot.status,
                        .body_bytes_in = slot.body_bytes,
                        .body_bytes_out = slot.upload.sent()};
  user_.on_outcome(exchange, outcome);
}

}  // namespace

std::unique_ptr<Protocol> make_spdy(RequestPlan& plan, ProtocolUser& user,
                                    const StreamOptions& options) {
  return std::make_unique<SpdyProtocol>(plan, user, options);
}

}  // namespace h2server::lab::load
