// What all TLS connections of the server share: certificate, key, ciphers, ALPN.
//
// TLS 1.2 and 1.3, ECDHE with AEAD ciphers only; session tickets on, 0-RTT and renegotiation off.
// Immutable once made, so every worker may use it.
#pragma once

#include <memory>
#include <string>

#include "h2server/result.h"

struct ssl_ctx_st;

namespace h2server::net {

class TlsContext {
 public:
  // Both files are PEM; the certificate file may hold a chain. The error is a line for the
  // operator.
  static Result<std::shared_ptr<const TlsContext>, std::string> open(
      const std::string& certificate_file, const std::string& key_file);

  [[nodiscard]] ssl_ctx_st* get() const noexcept { return context_.get(); }

 private:
  struct Free {
    void operator()(ssl_ctx_st* context) const noexcept;
  };
  std::unique_ptr<ssl_ctx_st, Free> context_;
};

}  // namespace h2server::net
