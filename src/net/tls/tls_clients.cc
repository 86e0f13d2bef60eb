#include "net/tls/tls_clients.h"

#include <fmt/format.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "base/c_callback.h"

namespace h2server::net {

namespace {

// OpenSSL verifies no certificate when it resumes a session: the ticket holds the certificate and
// the earlier result. Tickets of another TlsContext have other keys, so their sessions, which may
// have begun without a verification, never get here.
SSL_TICKET_RETURN decide(SSL* ssl, SSL_SESSION* session, const unsigned char*, std::size_t,
                         SSL_TICKET_STATUS status, void*) {
  const bool renew = status == SSL_TICKET_SUCCESS_RENEW;
  if (status != SSL_TICKET_SUCCESS && !renew) return SSL_TICKET_RETURN_IGNORE_RENEW;
  const X509* const certificate = SSL_SESSION_get0_peer(session);
  const bool is_missing =
      certificate == nullptr && (SSL_get_verify_mode(ssl) & SSL_VERIFY_FAIL_IF_NO_PEER_CERT) != 0;
  const bool has_expired =
      certificate != nullptr && X509_cmp_current_time(X509_get0_notAfter(certificate)) <= 0;
  if (is_missing || has_expired) return SSL_TICKET_RETURN_IGNORE_RENEW;  // a full handshake
  return renew ? SSL_TICKET_RETURN_USE_RENEW : SSL_TICKET_RETURN_USE;
}

}  // namespace

Result<void, std::string> ask_for_certificates(ssl_ctx_st* context, const TlsClients& clients) {
  const char* const file = clients.ca_file.c_str();
  if (::access(file, R_OK) != 0) {
    return std::unexpected(fmt::format("can't read the certificates of the clients' authorities, "
                                       "{}: {}",
                                       file, std::strerror(errno)));
  }
  // Clients choose a certificate by the names of the authorities.
  STACK_OF(X509_NAME)* const names = SSL_load_client_CA_file(file);
  if (names == nullptr || SSL_CTX_load_verify_file(context, file) != 1) {
    sk_X509_NAME_pop_free(names, X509_NAME_free);
    ERR_clear_error();
    return std::unexpected(
        fmt::format("{} holds no certificates of the clients' authorities in PEM form", file));
  }
  SSL_CTX_set_client_CA_list(context, names);
  SSL_CTX_set_verify(
      context, SSL_VERIFY_PEER | (clients.required ? SSL_VERIFY_FAIL_IF_NO_PEER_CERT : 0), nullptr);
  SSL_CTX_set_session_ticket_cb(context, nullptr, base::c_callback<decide>, nullptr);
  return {};
}

}  // namespace h2server::net
