#include "net/tls/tls_context.h"

#include <fmt/format.h>
#include <openssl/err.h>
#include <openssl/ssl.h>

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "base/c_callback.h"
#include "base/out_of_memory.h"
#include "net/crypto/tls_objects.h"
#include "net/tls/tls_handover.h"

namespace h2server::net {

namespace {

// TLS 1.2 suites that RFC 9113, 9.2.2 permits. All TLS 1.3 suites are permitted.
constexpr const char* ciphers_of_tls_1_2 =
    "ECDHE-ECDSA-AES128-GCM-SHA256:ECDHE-RSA-AES128-GCM-SHA256:"
    "ECDHE-ECDSA-AES256-GCM-SHA384:ECDHE-RSA-AES256-GCM-SHA384:"
    "ECDHE-ECDSA-CHACHA20-POLY1305:ECDHE-RSA-CHACHA20-POLY1305";

// An offer without a match is fatal: no_application_protocol, 120 (RFC 7301, 3.2).
int select_protocol(SSL* ssl, const unsigned char** chosen, unsigned char* chosen_size,
                    const unsigned char* offered, unsigned offered_size, void* ours) {
  if (answers_challenge(ssl)) {  // then nothing else is offered
    *chosen = offered + 1;
    *chosen_size = *offered;
    return SSL_TLSEXT_ERR_OK;
  }
  const std::string& protocols = *static_cast<const std::string*>(ours);
  unsigned char* selected = nullptr;
  const int verdict = SSL_select_next_proto(
      &selected, chosen_size, reinterpret_cast<const unsigned char*>(protocols.data()),
      static_cast<unsigned>(protocols.size()), offered, offered_size);
  if (verdict != OPENSSL_NPN_NEGOTIATED) return SSL_TLSEXT_ERR_ALERT_FATAL;
  *chosen = selected;
  return SSL_TLSEXT_ERR_OK;
}

// Every name is served: HostCredentials chooses the certificate, and HTTP answers 421. Without
// this, a resumed TLS 1.2 session has no name.
int accept_server_name(SSL*, int*, void*) { return SSL_TLSEXT_ERR_OK; }

// Returns a text that differs if other clients are trusted: whether a certificate is required, and
// the digests of the authorities.
std::string trusted_clients_of(SSL_CTX* context) {
  std::vector<std::string> digests;
  const Chain authorities(X509_STORE_get1_all_certs(SSL_CTX_get_cert_store(context)));
  for (int at = 0; at < sk_X509_num(authorities.get()); ++at) {
    std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
    unsigned size = 0;
    if (X509_digest(sk_X509_value(authorities.get(), at), EVP_sha256(), digest.data(), &size) !=
        1) {
      base::out_of_memory();
    }
    digests.emplace_back(digest.begin(), digest.begin() + size);
  }
  std::ranges::sort(digests);
  std::string text = std::to_string(SSL_CTX_get_verify_mode(context)) + ":";
  for (const std::string& digest : digests) text += digest;
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
  unsigned size = 0;
  if (EVP_Digest(text.data(), text.size(), digest.data(), &size, EVP_sha256(), nullptr) != 1) {
    base::out_of_memory();
  }
  return {digest.begin(), digest.begin() + size};
}

}  // namespace

void TlsContext::Free::operator()(ssl_ctx_st* context) const noexcept { SSL_CTX_free(context); }

TlsOptions tls_options_of(const ServerOptions& options) {
  TlsOptions made{.certificates = {{options.certificate_file, options.key_file, options.ocsp_file}},
                  .hosts = options.host_certificates,
                  .passphrase = options.key_passphrase,
                  .record_layer = options.tls_record_layer,
                  .challenges = options.tls_challenges};
  if (options.client_certificates != ClientCertificates::none) {
    made.clients = {.ca_file = options.client_ca_file,
                    .required = options.client_certificates == ClientCertificates::required};
  }
  made.certificates.insert(made.certificates.end(), options.more_certificates.begin(),
                           options.more_certificates.end());
  return made;
}

// What does not depend on the certificates.
Result<void, std::string> TlsContext::set_up(const TlsOptions& options) {
  protocols_ = options.protocols;
  context_.reset(SSL_CTX_new(TLS_server_method()));
  SSL_CTX* const context = get();
  if (context == nullptr) return std::unexpected("can't set up TLS: " + last_error());
  SSL_CTX_set_min_proto_version(context, TLS1_2_VERSION);
  SSL_CTX_set_options(context, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION |
                                   SSL_OP_CIPHER_SERVER_PREFERENCE | SSL_OP_PRIORITIZE_CHACHA);
  SSL_CTX_set_mode(context, SSL_MODE_RELEASE_BUFFERS | SSL_MODE_ENABLE_PARTIAL_WRITE |
                                SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
  // Tickets carry the session. Every handshake would lock a session cache.
  SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_OFF);
  SSL_CTX_set_session_id_context(context, reinterpret_cast<const unsigned char*>("h2server"), 8);
  SSL_CTX_set_max_early_data(context, 0);
  SSL_CTX_set_alpn_select_cb(context, base::c_callback<select_protocol>, &protocols_);
  SSL_CTX_set_tlsext_servername_callback(context, base::c_callback<accept_server_name>);
  if (SSL_CTX_set_cipher_list(context, ciphers_of_tls_1_2) != 1) {
    return std::unexpected("can't set the TLS ciphers: " + last_error());
  }
  return {};
}

Result<void, std::string> TlsContext::load(const TlsOptions& options, const TlsContext* previous) {
  const CredentialsTable* const earlier = previous != nullptr ? &previous->credentials_ : nullptr;
  const Result<CredentialsSet, std::string> usual =
      credentials_.read(options.certificates, options.passphrase, earlier);
  if (!usual) return std::unexpected(usual.error());
  for (const auto& pair : *usual) {
    if (SSL_CTX_use_cert_and_key(get(), pair->certificate.get(), pair->key.get(), pair->chain.get(),
                                 1) != 1) {
      return std::unexpected(fmt::format("can't use the certificate {}: {}",
                                         options.certificates.front().certificate_file,
                                         last_error()));
    }
  }
  for (const HostCertificate& host : options.hosts) {
    std::vector<CertificateFiles> files = {{host.certificate_file, host.key_file, host.ocsp_file}};
    files.insert(files.end(), host.more.begin(), host.more.end());
    const Result<CredentialsSet, std::string> set =
        credentials_.read(files, options.passphrase, earlier);
    if (!set) return std::unexpected(set.error());
    hosts_.add(host.hosts, *set);
  }
  if (!options.hosts.empty()) hosts_.install(get());
  credentials_.give_responses(responses_);
  responses_.install(get());
  warnings_ = credentials_.warnings();
  return {};
}

// A ticket says that its client was verified (see ask_for_certificates()), so tickets stay good
// only while the same clients are trusted.
Result<void, std::string> TlsContext::trust(const TlsOptions& options, const TlsContext* previous) {
  if (options.clients) {
    const Result<void, std::string> asked = ask_for_certificates(get(), *options.clients);
    if (!asked) return std::unexpected(asked.error());
    trusted_ = trusted_clients_of(get());
  }
  const bool same =
      previous != nullptr && previous->trusted_ == trusted_ && !previous->tickets_->shared();
  if (!options.ticket_secrets.empty()) {
    tickets_ = std::make_shared<const TicketKeys>(options.ticket_secrets, trusted_);
  } else {
    tickets_ = same ? previous->tickets_ : std::make_shared<const TicketKeys>();
  }
  tickets_->install(get());
  return {};
}

Result<std::shared_ptr<const TlsContext>, std::string> TlsContext::open(
    const TlsOptions& options, const TlsContext* previous) {
  auto made = std::make_shared<TlsContext>();
  Result<void, std::string> done = made->set_up(options);
  if (done) done = made->load(options, previous);
  if (done) done = made->trust(options, previous);
  if (!done) return std::unexpected(std::move(done.error()));
  made->challenges_ = options.challenges;
  if (made->challenges_ != nullptr) made->challenges_->install(made->get());
  made->own_records_ = options.record_layer == TlsRecordLayer::own;
  if (made->own_records_ && !TlsHandover::install(made->get())) {
    return std::unexpected("can't set up TLS: " + last_error());
  }
  return made;
}

Result<std::shared_ptr<const TlsContext>, std::string> TlsContext::open(
    const std::string& certificate_file, const std::string& key_file, const Passphrase& passphrase,
    const std::optional<TlsClients>& clients, TlsRecordLayer record_layer,
    const std::vector<HostCertificate>& others) {
  return open({.certificates = {{certificate_file, key_file}},
               .hosts = others,
               .passphrase = passphrase,
               .clients = clients,
               .record_layer = record_layer});
}

}  // namespace h2server::net
