#include "net/tls/tls_records.h"

#include <openssl/err.h>

#include <algorithm>
#include <utility>

#include "base/assert.h"

namespace h2server::net {

// RFC 8446, 6.
enum class TlsRecords::Alert : std::uint8_t {
  close_notify = 0,
  unexpected_message = 10,
  bad_record_mac = 20,
  record_overflow = 22,
  illegal_parameter = 47,
  decode_error = 50,
  internal_error = 80,
  user_canceled = 90,
};

namespace {

constexpr unsigned char key_update_type = 24;  // RFC 8446, B.3
enum KeyUpdateRequest : std::uint8_t { update_not_requested = 0, update_requested = 1 };

}  // namespace

std::unique_ptr<TlsRecords> TlsRecords::make(const Start& start, const TlsRecordsLimits& limits) {
  using Use = TlsProtection::Use;
  std::optional<TlsProtection> reader =
      TlsProtection::make(Use::open, start.suite, start.client, start.records_read);
  std::optional<TlsProtection> writer =
      TlsProtection::make(Use::seal, start.suite, start.server, start.records_written);
  ERR_clear_error();  // the caller's error queue stays empty
  if (!reader || !writer) return nullptr;
  return std::make_unique<TlsRecords>(*std::move(reader), *std::move(writer), start, limits);
}

TlsRecords::TlsRecords(TlsProtection reader, TlsProtection writer, const Start& start,
                       const TlsRecordsLimits& limits)
    : reader_(std::move(reader)),
      writer_(std::move(writer)),
      limits_(limits),
      content_bytes_max_(start.content_bytes_max),
      content_read_bytes_max_(start.content_read_bytes_max) {}

bool TlsRecords::seal(base::BufferChain& content, std::size_t size_max, base::BufferChain& out) {
  if (ending_ == Ending::broken) return false;
  if (writer_.records() >= limits_.records_per_key_max) update_keys(false, out);
  if (ending_ == Ending::broken) return false;
  std::array<iovec, 64> pieces;
  const std::span<const iovec> gathered = std::span(pieces).first(content.gather(pieces));
  const std::size_t limit = std::min({size_max, content_bytes_max_, content.size()});
  std::size_t size = 0;
  for (const iovec& piece : gathered) {
    size = std::min(size + piece.iov_len, limit);
    if (size == limit) break;
  }
  const std::span<char> room = out.reserve(size + tls_record_overhead);
  if (!writer_.seal(TlsContentType::application_data, gathered, size, room.data())) {
    ERR_clear_error();
    ending_ = Ending::broken;
    return false;
  }
  out.commit(room.size());
  content.consume(size);
  return true;
}

void TlsRecords::seal_bytes(TlsContentType type, std::string_view content, base::BufferChain& out) {
  const iovec piece{const_cast<char*>(content.data()), content.size()};
  const std::span<char> room = out.reserve(content.size() + tls_record_overhead);
  if (!writer_.seal(type, {&piece, 1}, content.size(), room.data())) {
    ERR_clear_error();
    ending_ = Ending::broken;
    return;
  }
  out.commit(room.size());
}

void TlsRecords::close(base::BufferChain& out) {
  constexpr char warning = 1;  // RFC 8446, 6: the level means nothing
  const std::array<char, 2> alert = {warning, static_cast<char>(Alert::close_notify)};
  if (ending_ != Ending::broken) {
    seal_bytes(TlsContentType::alert, {alert.data(), alert.size()}, out);
  }
}

// RFC 8446, 6.2: a fatal alert is the last record.
void TlsRecords::fail(Alert problem, base::BufferChain& out) {
  constexpr char fatal = 2;
  const std::array<char, 2> alert = {fatal, static_cast<char>(problem)};
  seal_bytes(TlsContentType::alert, {alert.data(), alert.size()}, out);
  ending_ = Ending::broken;
}

// Changes the keys with which this side writes (RFC 8446, 4.6.3).
void TlsRecords::update_keys(bool request, base::BufferChain& out) {
  const std::array<char, 5> message = {
      key_update_type, 0, 0, 1,
      static_cast<char>(request ? update_requested : update_not_requested)};
  seal_bytes(TlsContentType::handshake, {message.data(), message.size()}, out);
  if (!writer_.update()) ending_ = Ending::broken;
  ERR_clear_error();
}

bool TlsRecords::peek(std::string_view input, Header& header) const {
  std::size_t size = 0;
  if (!partial_.empty()) {
    std::array<iovec, 4> pieces;
    for (const iovec& piece : std::span(pieces).first(partial_.gather(pieces))) {
      const std::size_t count = std::min(piece.iov_len, header.size() - size);
      std::copy_n(static_cast<const unsigned char*>(piece.iov_base), count, header.begin() + size);
      size += count;
    }
  }
  const std::size_t count = std::min(input.size(), header.size() - size);
  std::copy_n(input.begin(), count, header.begin() + size);
  return size + count == header.size();
}

// legacy_record_version is ignored, but the tag covers it (RFC 8446, 5.1 and 5.2).
std::optional<TlsRecords::Alert> TlsRecords::problem_of(const Header& header) const {
  if (header[0] != static_cast<unsigned char>(TlsContentType::application_data)) {
    return Alert::unexpected_message;  // RFC 8446, 5: so is change_cipher_spec by now
  }
  const std::size_t size = header[3] * 256U + header[4];
  if (size > tls_encrypted_bytes_max) return Alert::record_overflow;  // RFC 8446, 5.2
  if (size <= tls_tag_bytes) return Alert::bad_record_mac;            // has no content type
  return std::nullopt;
}

std::size_t TlsRecords::open(std::string_view& input, std::span<char> room,
                             base::BufferChain& out) {
  ASSERT(room.size() >= tls_encrypted_bytes_max);
  std::size_t filled = 0;
  while (ending_ == Ending::none && !input.empty()) {
    Header header;
    const bool has_header = peek(input, header);
    if (has_header) {
      if (const std::optional<Alert> problem = problem_of(header)) {
        fail(*problem, out);
        break;
      }
    }
    const std::size_t size = has_header ? header[3] * 256U + header[4] : 0;
    if (!has_header || partial_.size() + input.size() < header.size() + size) {
      partial_.append(input);
      input = {};
      break;
    }
    if (room.size() - filled < size - tls_tag_bytes) break;
    filled += open_record(header, size, input, room.data() + filled, out);
  }
  return filled;
}

std::size_t TlsRecords::open_record(const Header& header, std::size_t size, std::string_view& input,
                                    char* room, base::BufferChain& out) {
  if (reader_.records() >= limits_.records_per_key_max && !update_requested_) {
    update_requested_ = true;
    update_keys(true, out);
  }
  const std::size_t header_kept = std::min(partial_.size(), header.size());
  partial_.consume(header_kept);
  input.remove_prefix(header.size() - header_kept);
  std::array<iovec, 4> pieces;
  std::size_t count = partial_.gather(std::span(pieces).first(3));
  const std::size_t rest = size - partial_.size();
  pieces[count++] = {const_cast<char*>(input.data()), rest};
  const bool authentic = reader_.open(header, std::span(pieces).first(count), size, room);
  partial_.clear();
  input.remove_prefix(rest);
  const std::span<char> inner(room, size - tls_tag_bytes);
  if (!authentic) {
    ERR_clear_error();
    std::ranges::fill(inner, '\0');  // bytes that nobody vouches for
    fail(Alert::bad_record_mac, out);
    return 0;
  }
  return take(inner, out);
}

std::size_t TlsRecords::take(std::span<char> inner, base::BufferChain& out) {
  if (inner.size() > tls_inner_bytes_max) {
    fail(Alert::record_overflow, out);
    return 0;
  }
  std::size_t size = inner.size();
  while (size > 0 && inner[size - 1] == 0) --size;  // RFC 8446, 5.4: padding
  const auto type = static_cast<TlsContentType>(size > 0 ? inner[size - 1] : 0);
  const std::span<const char> content = inner.first(size > 0 ? size - 1 : 0);
  // RFC 8446, 5.1: no other records between the parts of a handshake message.
  const bool interrupts = key_update_bytes_ > 0 && type != TlsContentType::handshake;
  empty_records_ =
      type == TlsContentType::application_data && !content.empty() ? 0 : empty_records_ + 1;
  if (empty_records_ > limits_.empty_records_max) {
    fail(Alert::unexpected_message, out);
    return 0;
  }
  if (content.size() > content_read_bytes_max_) {  // RFC 6066, 4
    fail(Alert::record_overflow, out);
    return 0;
  }
  if (type == TlsContentType::application_data && !interrupts) return content.size();
  if (type == TlsContentType::alert && !interrupts) {
    take_alert(content, out);
  } else if (type == TlsContentType::handshake) {
    take_handshake(content, out);
  } else {
    fail(Alert::unexpected_message, out);
  }
  return 0;
}

void TlsRecords::take_alert(std::span<const char> content, base::BufferChain& out) {
  if (content.size() != 2) {  // RFC 8446, 5.1: one alert, whole
    fail(Alert::unexpected_message, out);
    return;
  }
  const auto alert = static_cast<Alert>(content[1]);
  if (alert == Alert::user_canceled) return;  // RFC 8446, 6.1: close_notify follows
  ending_ = alert == Alert::close_notify ? Ending::closed : Ending::broken;
}

// The one message that a client may send now: it was asked for no certificate (RFC 8446, 4.6.2).
void TlsRecords::take_handshake(std::span<const char> content, base::BufferChain& out) {
  if (content.empty()) {  // RFC 8446, 5.1
    fail(Alert::unexpected_message, out);
    return;
  }
  for (const char byte : content) {
    // RFC 8446, 5.1: nothing of the old keys follows a message that changes them.
    if (key_update_bytes_ == key_update_.size()) {
      fail(Alert::unexpected_message, out);
      return;
    }
    key_update_[key_update_bytes_++] = static_cast<unsigned char>(byte);
    if (key_update_[0] != key_update_type) {
      fail(Alert::unexpected_message, out);
      return;
    }
    if (key_update_bytes_ == 4 &&
        (key_update_[1] != 0 || key_update_[2] != 0 || key_update_[3] != 1)) {
      fail(Alert::decode_error, out);
      return;
    }
  }
  if (key_update_bytes_ == key_update_.size()) take_key_update(out);
}

void TlsRecords::take_key_update(base::BufferChain& out) {
  key_update_bytes_ = 0;
  const std::uint8_t request = key_update_[4];
  if (request != update_requested && request != update_not_requested) {
    fail(Alert::illegal_parameter, out);
    return;
  }
  if (!reader_.update()) {
    ERR_clear_error();
    fail(Alert::internal_error, out);
    return;
  }
  update_requested_ = false;
  if (request == update_requested) update_keys(false, out);
}

}  // namespace h2server::net
