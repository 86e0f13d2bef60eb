// TlsChallenges: the certificates that prove to an ACME server that this one serves a host
// (tls-alpn-01, RFC 8737), by the names of the hosts.
//
// Thread-safe. A handshake that offers the protocol "acme-tls/1" and no other is answered with a
// certificate of this table only, and fails without one; the connection closes when it is complete.
// Other handshakes do not look at the table.
#pragma once

#include <openssl/ssl.h>

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>

#include "net/crypto/tls_objects.h"

namespace h2server::net {

class TlsChallenges {
 public:
  struct Pair {
    Certificate certificate;  // self-signed, with the extension acmeIdentifier (RFC 8737, 3)
    Key key;
  };

  // Answers for `host` from now on: a name, or that of an address below in-addr.arpa or ip6.arpa
  // (RFC 8738, 6). Letters count in either case. Replaces the pair of a host that is there. Both
  // members of `pair` exist.
  void set(std::string_view host, Pair pair);
  // Handshakes that have begun keep their certificate.
  void remove(std::string_view host);

  // Returns null if there is none.
  [[nodiscard]] std::shared_ptr<const Pair> find(std::string_view host) const;

  // Makes handshakes of `context` look at the table. Must outlive `context`.
  void install(SSL_CTX* context) const;

 private:
  struct Callback;

  mutable std::mutex mutex_;
  std::map<std::string, std::shared_ptr<const Pair>, std::less<>> pairs_;  // by names in lower case
};

// The protocol that such a handshake agrees on.
inline constexpr std::string_view challenge_protocol = "acme-tls/1";

// Returns true if the handshake is answered from a table. Call it in callbacks of the handshake,
// once the ClientHello is read.
[[nodiscard]] bool answers_challenge(const SSL* ssl) noexcept;

}  // namespace h2server::net
