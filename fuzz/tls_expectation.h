// TlsExpectation: what RFC 8446 says of a client's records after the handshake: which content they
// have, and how they end. It knows each genuine record, so it decrypts none: what arrives is
// authentic if it is, byte for byte, the record that is due.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>

#include "tls_reference.h"

namespace h2server::fuzz {

class TlsExpectation {
 public:
  enum class End : std::uint8_t { none, closed, broken };
  // Of a broken connection.
  enum class Reason : std::uint8_t {
    none,
    header,            // the type or a length that is too large
    no_room_for_type,  // of a tag alone, or less
    version,           // the same, or not authentic, with another legacy_record_version
    not_authentic,
    inner_too_long,  // with its padding
    idle,            // too many records without content
    handshake_type,
    handshake_length,
    two_violations,  // content that is too long, of a record that should not be there
    alert_received,
    other,
  };

  explicit TlsExpectation(std::size_t content_bytes_max) : content_bytes_max_(content_bytes_max) {}

  // A record that the client made, with the `number`-th use of its keys' `generation`.
  void made(unsigned generation, std::uint64_t number, std::string record, TlsInner inner);
  void arrived(std::string_view bytes);

  [[nodiscard]] const std::string& content() const noexcept { return content_; }
  [[nodiscard]] End end() const noexcept { return end_; }
  [[nodiscard]] Reason reason() const noexcept { return reason_; }
  // The alert that the server sends; -1: none.
  [[nodiscard]] int alert() const noexcept { return alert_; }
  // KeyUpdates with which the server answers.
  [[nodiscard]] unsigned answers() const noexcept { return answers_; }
  [[nodiscard]] unsigned cancellations() const noexcept { return cancellations_; }
  // A record that is not complete has another legacy_record_version.
  [[nodiscard]] bool waits_for_other_version() const noexcept;

 private:
  struct Made {
    std::string record;
    TlsInner inner;
  };

  // Takes the first record of arrived_. Returns false if more bytes are needed.
  bool take_record();
  void take(const TlsInner& inner);
  void take_alert(const std::string& content);
  void take_handshake(const std::string& content);
  void fail(Reason reason, int alert);

  std::size_t content_bytes_max_;
  std::map<std::pair<unsigned, std::uint64_t>, Made> made_;
  std::string arrived_;
  std::string content_;
  std::string message_;  // the part of a handshake message that has arrived
  unsigned generation_ = 0;
  std::uint64_t records_ = 0;
  unsigned idle_ = 0;  // in a row
  unsigned answers_ = 0;
  unsigned cancellations_ = 0;
  End end_ = End::none;
  Reason reason_ = Reason::none;
  int alert_ = -1;
};

}  // namespace h2server::fuzz
