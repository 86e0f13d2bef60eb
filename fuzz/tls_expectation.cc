#include "tls_expectation.h"

#include "tls_reference.h"

namespace h2server::fuzz {

namespace {

constexpr std::size_t inner_bytes_max = (1 << 14) + 1;        // RFC 8446, 5.4
constexpr std::size_t encrypted_bytes_max = (1 << 14) + 256;  // RFC 8446, 5.2
constexpr unsigned idle_max = 32;                             // the server's own limit

// RFC 8446, 6.
constexpr int unexpected_message = 10;
constexpr int bad_record_mac = 20;
constexpr int record_overflow = 22;
constexpr int illegal_parameter = 47;
constexpr int decode_error = 50;

bool has_other_version(std::string_view record) { return record.substr(1, 2) != "\x03\x03"; }

unsigned byte_at(std::string_view text, std::size_t at) {
  return static_cast<unsigned char>(text[at]);
}

}  // namespace

void TlsExpectation::made(unsigned generation, std::uint64_t number, std::string record,
                          TlsInner inner) {
  made_[{generation, number}] = {std::move(record), std::move(inner)};
}

void TlsExpectation::arrived(std::string_view bytes) {
  arrived_ += bytes;
  while (end_ == End::none && take_record()) continue;
}

void TlsExpectation::fail(Reason reason, int alert) {
  end_ = End::broken;
  reason_ = reason;
  alert_ = alert;
}

bool TlsExpectation::waits_for_other_version() const noexcept {
  return arrived_.size() >= tls_header_bytes && has_other_version(arrived_);
}

bool TlsExpectation::take_record() {
  if (arrived_.size() < tls_header_bytes) return false;
  const std::size_t size = byte_at(arrived_, 3) * 256U + byte_at(arrived_, 4);
  const bool other_version = has_other_version(arrived_);
  if (byte_at(arrived_, 0) != tls_application_data) {
    fail(other_version ? Reason::version : Reason::header, unexpected_message);
    return false;
  }
  if (size > encrypted_bytes_max) {
    fail(other_version ? Reason::version : Reason::header, record_overflow);
    return false;
  }
  if (size <= tls_tag_bytes) {
    fail(Reason::no_room_for_type, bad_record_mac);
    return false;
  }
  if (arrived_.size() < tls_header_bytes + size) return false;
  const std::string record = arrived_.substr(0, tls_header_bytes + size);
  arrived_.erase(0, record.size());
  const auto due = made_.find({generation_, records_});
  if (due == made_.end() || due->second.record != record) {
    fail(other_version ? Reason::version : Reason::not_authentic, bad_record_mac);
    return false;
  }
  ++records_;
  take(due->second.inner);
  return true;
}

void TlsExpectation::take(const TlsInner& inner) {
  const std::size_t inner_bytes = inner.content.size() + (inner.type != 0 ? 1 : 0) + inner.zeros;
  if (inner_bytes > inner_bytes_max) {
    fail(Reason::inner_too_long, record_overflow);
    return;
  }
  idle_ = inner.type == tls_application_data && !inner.content.empty() ? 0 : idle_ + 1;
  if (idle_ > idle_max) {
    fail(Reason::idle, unexpected_message);
    return;
  }
  if (inner.content.size() > content_bytes_max_) {
    const bool is_data = inner.type == tls_application_data && message_.empty();
    fail(is_data ? Reason::other : Reason::two_violations, record_overflow);
    return;
  }
  const bool interrupts = !message_.empty() && inner.type != tls_handshake;
  if (inner.type == tls_application_data && !interrupts) {
    content_ += inner.content;
  } else if (inner.type == tls_alert && !interrupts) {
    take_alert(inner.content);
  } else if (inner.type == tls_handshake && !inner.content.empty()) {
    take_handshake(inner.content);
  } else {
    fail(Reason::other, unexpected_message);
  }
}

void TlsExpectation::take_alert(const std::string& content) {
  constexpr unsigned user_canceled = 90;
  if (content.size() != 2) {
    fail(Reason::other, unexpected_message);
  } else if (byte_at(content, 1) == user_canceled) {
    ++cancellations_;
  } else if (byte_at(content, 1) == 0) {  // close_notify
    end_ = End::closed;
  } else {
    fail(Reason::alert_received, -1);
  }
}

void TlsExpectation::take_handshake(const std::string& content) {
  constexpr unsigned key_update = 24;
  message_ += content;
  if (byte_at(message_, 0) != key_update) {
    fail(Reason::handshake_type, unexpected_message);
  } else if (message_.size() >= 4 && message_.substr(1, 3) != std::string("\0\0\1", 3)) {
    fail(Reason::handshake_length, decode_error);
  } else if (message_.size() > 5) {  // the next message has new keys, so its own record
    fail(Reason::other, unexpected_message);
  } else if (message_.size() == 5) {
    const unsigned request = byte_at(message_, 4);
    message_.clear();
    if (request > 1) {
      fail(Reason::other, illegal_parameter);
      return;
    }
    answers_ += request;
    ++generation_;
    records_ = 0;
  }
}

}  // namespace h2server::fuzz
