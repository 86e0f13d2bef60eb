// TlsProtection: the keys of one direction of a TLS 1.3 connection, and what they do to its records
// (RFC 8446, 5.2 and 5.3). The AEAD is OpenSSL's (EVP).
//
// One owner, one thread. An object seals records or opens them, not both. Secrets and keys are
// wiped when they are replaced and at the end.
#pragma once

#include <openssl/evp.h>
#include <sys/uio.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>

#include "net/crypto/tls_objects.h"

namespace h2server::net {

// RFC 8446, 5.1 and B.1.
enum class TlsContentType : std::uint8_t {
  change_cipher_spec = 20,
  alert = 21,
  handshake = 22,
  application_data = 23,
};

constexpr std::size_t tls_header_bytes = 5;
constexpr std::size_t tls_tag_bytes = 16;                                     // of all three AEADs
constexpr std::size_t tls_content_bytes_max = 16 * 1024;                      // RFC 8446, 5.1
constexpr std::size_t tls_inner_bytes_max = tls_content_bytes_max + 1;        // with the type
constexpr std::size_t tls_encrypted_bytes_max = tls_content_bytes_max + 256;  // RFC 8446, 5.2
// What a record needs beside its content: header, content type and tag.
constexpr std::size_t tls_record_overhead = tls_header_bytes + 1 + tls_tag_bytes;

class TlsProtection {
 public:
  enum class Use : bool { seal, open };
  using Header = std::array<unsigned char, tls_header_bytes>;

  // A traffic secret (RFC 8446, 7.1), of as many bytes as the suite's hash has.
  class Secret {
   public:
    Secret() = default;
    explicit Secret(std::span<const unsigned char> bytes) noexcept;
    Secret(const Secret& other) noexcept = default;
    Secret& operator=(const Secret& other) noexcept = default;
    ~Secret();

    [[nodiscard]] std::span<const unsigned char> bytes() const noexcept {
      return std::span(bytes_).first(size_);
    }

   private:
    std::array<unsigned char, 48> bytes_{};  // SHA-384
    std::size_t size_ = 0;
  };

  // `suite` is a number of RFC 8446, B.4. `records` have been protected with this secret before.
  // Returns nullopt for a suite with an AEAD other than AES-GCM and ChaCha20-Poly1305, a secret of
  // the wrong size, or if OpenSSL lacks the algorithms.
  static std::optional<TlsProtection> make(Use use, std::uint16_t suite, const Secret& secret,
                                           std::uint64_t records);

  // Writes a whole record to `out`, which has room for the content and tls_record_overhead: the
  // content is the first `size` bytes of `pieces`, at most tls_content_bytes_max. Short pieces are
  // copied, so that a record of many needs few calls of the cipher. Returns false if OpenSSL fails.
  [[nodiscard]] bool seal(TlsContentType type, std::span<const iovec> pieces, std::size_t size,
                          char* out);

  // Decrypts a record: `pieces` hold what follows `header`, `size` bytes with the tag. Writes
  // `size` - tls_tag_bytes bytes to `out`, which must not overlap them. Returns false if the record
  // is not authentic; `out` then holds nothing of use.
  [[nodiscard]] bool open(const Header& header, std::span<const iovec> pieces, std::size_t size,
                          char* out);

  // The next generation of secret and keys (RFC 8446, 7.2). Returns false if OpenSSL fails.
  [[nodiscard]] bool update();

  // Records protected with the present keys.
  [[nodiscard]] std::uint64_t records() const noexcept { return records_; }

 private:
  struct Suite;
  using Cipher = std::unique_ptr<EVP_CIPHER_CTX, FreeBy<EVP_CIPHER_CTX_free>>;

  static constexpr std::size_t iv_bytes = 12;  // RFC 8446, 5.3, of all three AEADs

  TlsProtection(Use use, const Suite& suite, const Secret& secret, std::uint64_t records)
      : suite_(&suite), secret_(secret), records_(records), use_(use) {}

  static const Suite* suite_of(std::uint16_t number);
  // Sets key and IV by the secret.
  [[nodiscard]] bool set_keys();
  // Sets the nonce of the next record and gives the cipher its header.
  [[nodiscard]] bool begin(const unsigned char* header);

  const Suite* suite_;
  Cipher cipher_;
  Secret secret_;
  std::array<unsigned char, iv_bytes> iv_{};
  std::uint64_t records_;
  Use use_;
};

}  // namespace h2server::net
