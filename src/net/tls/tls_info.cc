#include "net/tls/tls_info.h"

#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>

#include "base/out_of_memory.h"
#include "net/crypto/tls_objects.h"
#include "net/tls/tls_groups.h"

namespace h2server::net {

namespace {

std::string text_or_empty(const char* text) { return text != nullptr ? text : ""; }

// Returns what `print` writes; empty if it fails.
template <class Print>
std::string printed(Print print) {
  const Bio bio(BIO_new(BIO_s_mem()));
  if (bio == nullptr) base::out_of_memory();
  if (print(bio.get()) < 0) return {};  // a name that is malformed
  char* bytes = nullptr;
  const long size = BIO_get_mem_data(bio.get(), &bytes);
  return {bytes, static_cast<std::size_t>(size)};
}

ClientCertificate describe(X509* certificate) {
  const X509_NAME* const subject = X509_get_subject_name(certificate);
  return {.pem = printed([&](BIO* bio) { return PEM_write_bio_X509(bio, certificate); }),
          .subject = printed(
              [&](BIO* bio) { return X509_NAME_print_ex(bio, subject, 0, XN_FLAG_RFC2253); })};
}

}  // namespace

// A certificate that fails the verification ends the handshake, so this one has passed it.
TlsSession::TlsSession(ssl_st& ssl)
    : version_(SSL_get_version(&ssl)),
      cipher_(SSL_get_current_cipher(&ssl)),
      group_(group_of(ssl)),
      server_name_(text_or_empty(SSL_get_servername(&ssl, TLSEXT_NAMETYPE_host_name))),
      resumed_(SSL_session_reused(&ssl) == 1),
      client_certificate_(SSL_get1_peer_certificate(&ssl)) {}

TlsInfo TlsSession::info() const {
  TlsInfo info{.version = text_or_empty(version_),
               .cipher = text_or_empty(SSL_CIPHER_standard_name(cipher_)),
               .group = std::string(group_),
               .server_name = server_name_};
  if (client_certificate_ != nullptr) info.client_certificate = describe(client_certificate_.get());
  ERR_clear_error();  // the transport expects an empty queue
  return info;
}

}  // namespace h2server::net
