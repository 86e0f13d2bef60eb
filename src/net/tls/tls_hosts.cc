#include "net/tls/tls_hosts.h"

#include <openssl/ssl.h>

#include <memory>

#include "net/certs/tls_challenges.h"

namespace h2server::net {

struct HostCredentials::Callback {
  // Called when OpenSSL has read the ClientHello and needs a certificate. Returns 0 for a fatal
  // error.
  static int choose(SSL* ssl, void* hosts) noexcept {
    if (answers_challenge(ssl)) return 1;
    const char* const name = SSL_get_servername(ssl, TLSEXT_NAMETYPE_host_name);
    if (name == nullptr) return 1;
    const CredentialsSet* const set = static_cast<const HostCredentials*>(hosts)->names_.find(name);
    if (set == nullptr) return 1;
    SSL_certs_clear(ssl);  // also those of key types that the set lacks
    for (const auto& pair : *set) {
      if (SSL_use_cert_and_key(ssl, pair->certificate.get(), pair->key.get(), pair->chain.get(),
                               1) != 1) {
        return 0;
      }
    }
    return 1;
  }
};

void HostCredentials::add(const std::vector<std::string>& hosts, const CredentialsSet& set) {
  for (const std::string& name : hosts) names_.set(name, set);
}

void HostCredentials::install(ssl_ctx_st* context) const {
  SSL_CTX_set_cert_cb(context, Callback::choose, const_cast<HostCredentials*>(this));
}

}  // namespace h2server::net
