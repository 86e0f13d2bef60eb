// TlsReference: the protection of TLS 1.3's records (RFC 8446, 5.2 to 5.4 and 7.2), written from
// the RFC a second time. It also seals what no client would send: any type, any padding, any
// length.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace h2server::fuzz {

// RFC 8446, B.1.
constexpr int tls_alert = 21;
constexpr int tls_handshake = 22;
constexpr int tls_application_data = 23;

// Of a protected record (RFC 8446, 5.2).
constexpr std::size_t tls_header_bytes = 5;
constexpr std::size_t tls_tag_bytes = 16;

// TLSInnerPlaintext (RFC 8446, 5.2).
struct TlsInner {
  int type = 0;  // 0: none, since all bytes are zeros
  std::string content;
  std::size_t zeros = 0;  // of padding
};

class TlsReference {
 public:
  // `suite` is a number of RFC 8446, B.4; `secret` a traffic secret (7.1).
  TlsReference(std::uint16_t suite, std::string secret);

  // The next record.
  std::string seal(const TlsInner& inner);
  // Opens the next record, with its header. Returns nullopt if it is not authentic.
  std::optional<TlsInner> open(std::string_view record);
  // The next generation of secret and keys.
  void update();

  [[nodiscard]] unsigned generation() const noexcept { return generation_; }
  [[nodiscard]] std::uint64_t records() const noexcept { return records_; }

 private:
  [[nodiscard]] std::string expand(std::string_view label, std::size_t size) const;
  void set_keys();
  std::string next_nonce();

  std::uint16_t suite_;
  std::string secret_;
  std::string key_;
  std::string iv_;
  unsigned generation_ = 0;
  std::uint64_t records_ = 0;
};

}  // namespace h2server::fuzz
