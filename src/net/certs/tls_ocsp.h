// What an authority says about a server's certificate (OCSP, RFC 6960), read from a file and sent
// with the certificate to clients that ask for it ("stapled"; RFC 6066, 8; RFC 8446, 4.4.2.1).
#pragma once

#include <openssl/ssl.h>

#include <cstdint>
#include <limits>
#include <string>
#include <unordered_map>

#include "h2server/result.h"
#include "net/crypto/tls_objects.h"

namespace h2server::net {

struct OcspResponse {
  std::string der = {};  // empty: nothing to send
  // When it stops being valid, in seconds since 1970. One without nextUpdate stays valid.
  std::int64_t end_s = std::numeric_limits<std::int64_t>::max();
  // A line for the operator if `der` is empty although the file holds a response: it has expired,
  // is about another certificate, or says that the certificate is not good.
  std::string warning = {};
};

// Reads the response about the certificate, which is followed by `chain`. The signature is verified
// if the chain begins with the certificate's issuer. The error is a line for the operator.
Result<OcspResponse, std::string> read_ocsp_response(const std::string& file, X509* certificate,
                                                     STACK_OF(X509) * chain, std::int64_t now_s);

// The responses of a server's certificates. Filled before the first connection, then only read, by
// any thread.
class OcspResponses {
 public:
  using Clock = std::int64_t (*)();  // seconds since 1970

  explicit OcspResponses(Clock clock = now_s) : clock_(clock) {}
  OcspResponses(const OcspResponses&) = delete;
  OcspResponses& operator=(const OcspResponses&) = delete;

  // `certificate` is the object that handshakes use; it must outlive this.
  void add(const X509* certificate, OcspResponse response);
  // Makes handshakes of `context` send them. Must outlive `context`. Without a response, handshakes
  // never ask.
  void install(SSL_CTX* context) const;

 private:
  struct Callback;

  static std::int64_t now_s();

  const Clock clock_;
  std::unordered_map<const X509*, OcspResponse> responses_;
};

}  // namespace h2server::net
