// HostCredentials: certificates of single hosts, chosen by the name that a client asks for (SNI,
// RFC 6066, 3).
//
// Certificates and keys are shared by all connections; a host costs no SSL_CTX, which would take
// tens of KiB. Filled before the first connection, then only read, by any thread.
#pragma once

#include <string>
#include <vector>

#include "base/host_map.h"
#include "net/certs/tls_credentials.h"

struct ssl_ctx_st;

namespace h2server::net {

class HostCredentials {
 public:
  HostCredentials() = default;
  HostCredentials(const HostCredentials&) = delete;
  HostCredentials& operator=(const HostCredentials&) = delete;

  // OpenSSL chooses among the pairs of `set` by what the client supports.
  void add(const std::vector<std::string>& hosts, const CredentialsSet& set);
  // Makes handshakes of `context` use them. Must outlive `context`.
  void install(ssl_ctx_st* context) const;

 private:
  struct Callback;

  base::HostMap<CredentialsSet> names_;
};

}  // namespace h2server::net
