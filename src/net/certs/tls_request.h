// What a certificate is asked for with: keys and signatures (ES256), certificate requests (PKCS
// #10), the certificates of tls-alpn-01, and checks of what was issued. All keys are ECDSA P-256.
//
// Pure functions but for those with a file; any thread. None of them leaves an error in OpenSSL's
// queue. They throw std::bad_alloc if OpenSSL fails without a fault of the input.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "h2server/result.h"
#include "net/certs/tls_challenges.h"
#include "net/crypto/tls_objects.h"
#include "net/crypto/tls_sha256.h"

namespace h2server::net {

class SigningKey {
 public:
  static SigningKey make();
  // Returns nullopt unless the text is a private key on P-256 that is not encrypted.
  static std::optional<SigningKey> from_pem(std::string_view pem);

  [[nodiscard]] std::string pem() const;

  // The coordinates of the public key, 32 bytes each (RFC 7518, 6.2.1.2).
  struct Point {
    std::string x;
    std::string y;
  };
  [[nodiscard]] Point point() const;

  // Signs by ES256. Returns r and s, 32 bytes each (RFC 7518, 3.4).
  [[nodiscard]] std::string sign(std::string_view bytes) const;

  [[nodiscard]] EVP_PKEY* get() const noexcept { return key_.get(); }

 private:
  explicit SigningKey(Key key) noexcept : key_(std::move(key)) {}

  Key key_;
};

// Returns a request for `hosts`, in DER (RFC 2986). Its subject is empty. Each host is a name that
// is_dns_name() accepts.
std::string make_certificate_request(const SigningKey& key, std::span<const std::string> hosts);

// Makes the certificate that proves the control of `host` (RFC 8737, 3) and its key.
TlsChallenges::Pair make_challenge(const std::string& host, const Sha256Digest& authorization);

// Checks what an authority has issued: PEM certificates, of which the first one is for `key` and
// for all `hosts`, and valid at `now_s`. The error says what is wrong.
Result<void, std::string> check_issued(const std::string& pem, const SigningKey& key,
                                       std::span<const std::string> hosts, std::int64_t now_s);

// Returns true if the validity of one begins later than that of the other, each by its first PEM
// certificate; also if only one has a certificate.
bool is_newer(const std::string& one, const std::string& other);

// What a renewal is asked about by (RFC 9773, 4.1), as bytes.
struct CertificateId {
  std::string authority_key;  // keyIdentifier of authorityKeyIdentifier
  std::string serial;         // the content of the number in DER
};
// Returns nullopt if the file's first certificate can't be read, or has no authorityKeyIdentifier.
std::optional<CertificateId> read_certificate_id(const std::string& certificate_file);

// Returns true if the file's first certificate is for all `hosts`.
bool covers(const std::string& certificate_file, std::span<const std::string> hosts);

}  // namespace h2server::net
