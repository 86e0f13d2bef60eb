#include "net/tls_context.h"

#include <openssl/err.h>
#include <openssl/ssl.h>

#include <string_view>

#include "base/c_callback.h"
#include "net/tls_credentials.h"
#include "net/tls_handover.h"

namespace h2server::net {

namespace {

// RFC 7301: length-prefixed names, the server's preference first.
constexpr std::string_view protocols = "\x02h2\x08http/1.1";

// TLS 1.2 suites that RFC 9113, 9.2.2 permits. All TLS 1.3 suites are permitted.
constexpr const char* ciphers_of_tls_1_2 =
    "ECDHE-ECDSA-AES128-GCM-SHA256:ECDHE-RSA-AES128-GCM-SHA256:"
    "ECDHE-ECDSA-AES256-GCM-SHA384:ECDHE-RSA-AES256-GCM-SHA384:"
    "ECDHE-ECDSA-CHACHA20-POLY1305:ECDHE-RSA-CHACHA20-POLY1305";

// An offer without a match is fatal: no_application_protocol, 120 (RFC 7301, 3.2).
int select_protocol(SSL*, const unsigned char** chosen, unsigned char* chosen_size,
                    const unsigned char* offered, unsigned offered_size, void*) {
  unsigned char* selected = nullptr;
  const int verdict = SSL_select_next_proto(
      &selected, chosen_size, reinterpret_cast<const unsigned char*>(protocols.data()),
      static_cast<unsigned>(protocols.size()), offered, offered_size);
  if (verdict != OPENSSL_NPN_NEGOTIATED) return SSL_TLSEXT_ERR_ALERT_FATAL;
  *chosen = selected;
  return SSL_TLSEXT_ERR_OK;
}

// There is one certificate for all names. Without this, a resumed TLS 1.2 session has no name.
int accept_server_name(SSL*, int*, void*) { return SSL_TLSEXT_ERR_OK; }

std::string last_error() {
  const unsigned long code = ERR_peek_last_error();
  ERR_clear_error();
  const char* const reason = ERR_reason_error_string(code);
  return reason != nullptr ? reason : "unknown error";
}

}  // namespace

void TlsContext::Free::operator()(ssl_ctx_st* context) const noexcept { SSL_CTX_free(context); }

Result<std::shared_ptr<const TlsContext>, std::string> TlsContext::open(
    const std::string& certificate_file, const std::string& key_file, const Passphrase& passphrase,
    const std::optional<TlsClients>& clients, TlsRecordLayer record_layer) {
  auto made = std::make_shared<TlsContext>();
  made->context_.reset(SSL_CTX_new(TLS_server_method()));
  SSL_CTX* const context = made->get();
  if (context == nullptr) return std::unexpected("can't set up TLS: " + last_error());
  SSL_CTX_set_min_proto_version(context, TLS1_2_VERSION);
  SSL_CTX_set_options(context, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION |
                                   SSL_OP_CIPHER_SERVER_PREFERENCE | SSL_OP_PRIORITIZE_CHACHA);
  SSL_CTX_set_mode(context, SSL_MODE_RELEASE_BUFFERS | SSL_MODE_ENABLE_PARTIAL_WRITE |
                                SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
  // Tickets carry the session. Every handshake would lock a session cache.
  made->tickets_.install(context);
  SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_OFF);
  SSL_CTX_set_session_id_context(context, reinterpret_cast<const unsigned char*>("h2server"), 8);
  SSL_CTX_set_max_early_data(context, 0);
  SSL_CTX_set_alpn_select_cb(context, base::c_callback<select_protocol>, nullptr);
  SSL_CTX_set_tlsext_servername_callback(context, base::c_callback<accept_server_name>);
  if (SSL_CTX_set_cipher_list(context, ciphers_of_tls_1_2) != 1) {
    return std::unexpected("can't set the TLS ciphers: " + last_error());
  }
  const Result<void, std::string> loaded =
      load_credentials(context, certificate_file, key_file, passphrase);
  if (!loaded) return std::unexpected(loaded.error());
  if (clients) {
    const Result<void, std::string> asked = ask_for_certificates(context, *clients);
    if (!asked) return std::unexpected(asked.error());
  }
  made->own_records_ = record_layer == TlsRecordLayer::own;
  if (made->own_records_ && !TlsHandover::install(context)) {
    return std::unexpected("can't set up TLS: " + last_error());
  }
  made->warning_ = validity_warning(context, certificate_file);
  return made;
}

}  // namespace h2server::net
