// TlsContext: what all TLS connections of the server share: certificates, keys, ciphers, ALPN.
//
// TLS 1.2 and 1.3, ECDHE with AEAD ciphers only; session tickets on, 0-RTT and renegotiation off.
// Immutable once made, so any worker may use it. When certificates change, another one is made for
// later connections (see CurrentTls).
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "h2server/options.h"
#include "h2server/result.h"
#include "net/certs/tls_challenges.h"
#include "net/certs/tls_credentials.h"
#include "net/certs/tls_ocsp.h"
#include "net/certs/tls_passphrase.h"
#include "net/tls/tls_clients.h"
#include "net/tls/tls_hosts.h"
#include "net/tls/tls_tickets.h"

struct ssl_ctx_st;

namespace h2server::net {

struct TlsOptions {
  // For clients that name no host, or one that has none. At least one.
  std::vector<CertificateFiles> certificates = {};
  std::vector<HostCertificate> hosts = {};  // for clients that name one of them
  Passphrase passphrase = {};               // called at most once for a file with an encrypted key
  std::optional<TlsClients> clients = {};   // without it, none is asked for a certificate
  TlsRecordLayer record_layer = TlsRecordLayer::own;
  // RFC 7301: length-prefixed names, the server's preference first.
  std::string protocols = "\x02h2\x08http/1.1";
  std::vector<std::string> ticket_secrets = {};          // as of TicketKeys; empty: a random one
  std::shared_ptr<const TlsChallenges> challenges = {};  // null: no client may offer acme-tls/1
};

// Returns the part of the server's options that a TlsContext is made of.
[[nodiscard]] TlsOptions tls_options_of(const ServerOptions& options);

class TlsContext {
 public:
  using Passphrase = net::Passphrase;

  // The error is a line for the operator that names the file. With `previous`, sessions that began
  // with it can be resumed, unless other clients are trusted or secrets taken now; and an encrypted
  // key of the same files needs no passphrase if that of `options` is empty and the key is still
  // the certificate's.
  static Result<std::shared_ptr<const TlsContext>, std::string> open(
      const TlsOptions& options, const TlsContext* previous = nullptr);
  // The same for one certificate and others by hosts.
  static Result<std::shared_ptr<const TlsContext>, std::string> open(
      const std::string& certificate_file, const std::string& key_file,
      const Passphrase& passphrase = {}, const std::optional<TlsClients>& clients = {},
      TlsRecordLayer record_layer = TlsRecordLayer::own,
      const std::vector<HostCertificate>& others = {});

  [[nodiscard]] ssl_ctx_st* get() const noexcept { return context_.get(); }
  // Returns true if TLS 1.3's records are TlsRecords' after the handshake.
  [[nodiscard]] bool own_records() const noexcept { return own_records_; }
  // Returns lines for the operator on what clients will not accept: certificates that have expired
  // or are not valid yet, and OCSP responses, which they then don't get.
  [[nodiscard]] const std::vector<std::string>& warnings() const noexcept { return warnings_; }
  // Returns the first of them, or an empty text.
  [[nodiscard]] std::string warning() const {
    return warnings_.empty() ? std::string() : warnings_.front();
  }

 private:
  struct Free {
    void operator()(ssl_ctx_st* context) const noexcept;
  };

  Result<void, std::string> set_up(const TlsOptions& options);
  Result<void, std::string> load(const TlsOptions& options, const TlsContext* previous);
  Result<void, std::string> trust(const TlsOptions& options, const TlsContext* previous);

  std::string protocols_;  // as TlsOptions::protocols
  std::shared_ptr<const TicketKeys> tickets_;
  std::shared_ptr<const TlsChallenges> challenges_;
  CredentialsTable credentials_;
  HostCredentials hosts_;
  OcspResponses responses_;
  std::unique_ptr<ssl_ctx_st, Free> context_;
  std::string trusted_;  // a digest of which clients are trusted; empty: none is asked
  std::vector<std::string> warnings_;
  bool own_records_ = false;
};

}  // namespace h2server::net
