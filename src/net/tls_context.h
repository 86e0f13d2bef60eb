// TlsContext: what all TLS connections of the server share: certificate, key, ciphers, ALPN.
//
// TLS 1.2 and 1.3, ECDHE with AEAD ciphers only; session tickets on, 0-RTT and renegotiation off.
// Immutable once made, so any worker may use it.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "h2server/options.h"
#include "h2server/result.h"
#include "net/tls_clients.h"
#include "net/tls_tickets.h"

struct ssl_ctx_st;

namespace h2server::net {

class TlsContext {
 public:
  // Returns the passphrase of an encrypted key, or the reason why there is none.
  using Passphrase = std::function<Result<std::string, std::string>(const std::string& key_file)>;

  // Both files are PEM; the certificate file may hold a chain. Calls `passphrase` at most once, if
  // the key is encrypted. Without `clients`, none is asked for a certificate. The error is a line
  // for the operator.
  static Result<std::shared_ptr<const TlsContext>, std::string> open(
      const std::string& certificate_file, const std::string& key_file,
      const Passphrase& passphrase = {}, const std::optional<TlsClients>& clients = {},
      TlsRecordLayer record_layer = TlsRecordLayer::own);

  [[nodiscard]] ssl_ctx_st* get() const noexcept { return context_.get(); }
  // Returns true if TLS 1.3's records are TlsRecords' after the handshake.
  [[nodiscard]] bool own_records() const noexcept { return own_records_; }
  // Returns a line for the operator if clients will not accept the certificate; else empty.
  [[nodiscard]] const std::string& warning() const noexcept { return warning_; }

 private:
  struct Free {
    void operator()(ssl_ctx_st* context) const noexcept;
  };
  TicketKeys tickets_;
  std::unique_ptr<ssl_ctx_st, Free> context_;
  std::string warning_;
  bool own_records_ = false;
};

}  // namespace h2server::net
