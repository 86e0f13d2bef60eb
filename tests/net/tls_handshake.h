// For tests: certificates of an authority in files, and handshakes with a TlsContext in BIO pairs.
#pragma once

#include <gtest/gtest.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>

#include <array>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>

#include "net/crypto/tls_objects.h"
#include "net/tls/tls_context.h"

namespace h2server::net {

struct Identity {
  Key key;
  Certificate certificate;
};

inline Key ec_key() { return Key(EVP_EC_gen("P-256")); }
// One for all, since it takes long to make.
inline Key rsa_key() {
  static const Key made(EVP_RSA_gen(2048));
  EVP_PKEY_up_ref(made.get());
  return Key(made.get());
}

// Makes a certificate that `authority` signs; null: that its own key signs, of an authority. It is
// valid from `from_s` to `to_s`, relative to now. `usage`: of extendedKeyUsage, such as
// "OCSPSigning".
inline Identity make_identity(const std::string& name, Key key, const Identity* authority,
                              long serial = 1, long from_s = -60, long to_s = 3600,
                              const char* usage = nullptr) {
  Identity made{.key = std::move(key), .certificate = Certificate(X509_new())};
  X509* const certificate = made.certificate.get();
  X509_set_version(certificate, X509_VERSION_3);
  ASN1_INTEGER_set(X509_get_serialNumber(certificate), serial);
  X509_gmtime_adj(X509_getm_notBefore(certificate), from_s);
  X509_gmtime_adj(X509_getm_notAfter(certificate), to_s);
  X509_set_pubkey(certificate, made.key.get());
  X509_NAME_add_entry_by_txt(X509_get_subject_name(certificate), "CN", MBSTRING_UTF8,
                             reinterpret_cast<const unsigned char*>(name.c_str()), -1, -1, 0);
  const Identity& issuer = authority != nullptr ? *authority : made;
  X509_set_issuer_name(certificate, X509_get_subject_name(issuer.certificate.get()));
  const auto extend = [certificate](int kind, const char* value) {
    X509_EXTENSION* const extension = X509V3_EXT_conf_nid(nullptr, nullptr, kind, value);
    X509_add_ext(certificate, extension, -1);
    X509_EXTENSION_free(extension);
  };
  extend(NID_basic_constraints, authority == nullptr ? "critical,CA:TRUE" : "critical,CA:FALSE");
  if (usage != nullptr) extend(NID_ext_key_usage, usage);
  EXPECT_GT(X509_sign(certificate, issuer.key.get(), EVP_sha256()), 0);
  return made;
}

// A folder for the files of a test.
class Files {
 public:
  Files() { EXPECT_NE(::mkdtemp(folder_.data()), nullptr); }
  Files(const Files&) = delete;
  Files& operator=(const Files&) = delete;
  ~Files() { std::filesystem::remove_all(folder_); }

  [[nodiscard]] std::string path(const std::string& name) const { return folder_ + "/" + name; }
  void write(const std::string& name, const std::string& bytes) const {
    std::ofstream(path(name), std::ios::binary) << bytes;
  }
  // Writes STEM.crt, with the issuer behind it if it is given, and STEM.key, encrypted if there is
  // a passphrase.
  CertificateFiles write_pair(const std::string& stem, const Identity& identity,
                              const Identity* issuer = nullptr,
                              const std::string& passphrase = {}) const {
    const CertificateFiles files{path(stem + ".crt"), path(stem + ".key")};
    const Bio certificate(BIO_new_file(files.certificate_file.c_str(), "w"));
    PEM_write_bio_X509(certificate.get(), identity.certificate.get());
    if (issuer != nullptr) PEM_write_bio_X509(certificate.get(), issuer->certificate.get());
    const Bio key(BIO_new_file(files.key_file.c_str(), "w"));
    const auto* const secret = reinterpret_cast<const unsigned char*>(passphrase.data());
    PEM_write_bio_PrivateKey(key.get(), identity.key.get(),
                             passphrase.empty() ? nullptr : EVP_aes_128_cbc(), secret,
                             static_cast<int>(passphrase.size()), nullptr, nullptr);
    return files;
  }

 private:
  std::string folder_ = testing::TempDir() + "tls_XXXXXX";
};

struct ClientWishes {
  int version_max = TLS1_3_VERSION;
  const char* name = nullptr;                  // SNI
  const char* signature_algorithms = nullptr;  // such as "rsa_pss_rsae_sha256"; null: OpenSSL's
  std::string protocols = {};                  // ALPN, each with its length in front
  bool asks_for_status = false;                // OCSP
  SSL_SESSION* session = nullptr;              // to be resumed
};

using Session = std::unique_ptr<SSL_SESSION, FreeBy<SSL_SESSION_free>>;

struct Shaken {
  bool done = false;
  bool resumed = false;
  Certificate certificate;  // the server's; null if there is none
  std::string protocol;
  std::string status;  // the OCSP response; empty: none
  Session session;
};

// Does a handshake, and passes a byte to the client, because tickets of TLS 1.3 follow it.
inline Shaken shake_hands(const TlsContext& context, const ClientWishes& wishes = {}) {
  const std::unique_ptr<SSL_CTX, FreeBy<SSL_CTX_free>> settings(SSL_CTX_new(TLS_client_method()));
  SSL_CTX_set_max_proto_version(settings.get(), wishes.version_max);
  const std::unique_ptr<SSL, FreeBy<SSL_free>> client(SSL_new(settings.get()));
  const std::unique_ptr<SSL, FreeBy<SSL_free>> server(SSL_new(context.get()));
  if (wishes.name != nullptr) SSL_set_tlsext_host_name(client.get(), wishes.name);
  if (wishes.signature_algorithms != nullptr) {
    EXPECT_EQ(SSL_set1_sigalgs_list(client.get(), wishes.signature_algorithms), 1);
  }
  if (wishes.asks_for_status) SSL_set_tlsext_status_type(client.get(), TLSEXT_STATUSTYPE_ocsp);
  SSL_set_alpn_protos(client.get(), reinterpret_cast<const unsigned char*>(wishes.protocols.data()),
                      static_cast<unsigned>(wishes.protocols.size()));
  if (wishes.session != nullptr) SSL_set_session(client.get(), wishes.session);
  std::array<BIO*, 2> ends{};
  EXPECT_EQ(BIO_new_bio_pair(&ends[0], 0, &ends[1], 0), 1);
  SSL_set_bio(client.get(), ends[0], ends[0]);
  SSL_set_bio(server.get(), ends[1], ends[1]);
  SSL_set_connect_state(client.get());
  SSL_set_accept_state(server.get());
  Shaken result;
  for (int round = 0; round < 10 && !result.done; ++round) {
    const bool connected = SSL_do_handshake(client.get()) == 1;
    result.done = SSL_do_handshake(server.get()) == 1 && connected;
  }
  if (result.done) {
    char byte = 'x';
    EXPECT_EQ(SSL_write(server.get(), &byte, 1), 1);
    EXPECT_EQ(SSL_read(client.get(), &byte, 1), 1);
    result.resumed = SSL_session_reused(client.get()) == 1;
    result.certificate.reset(SSL_get1_peer_certificate(client.get()));
    const unsigned char* protocol = nullptr;
    unsigned size = 0;
    SSL_get0_alpn_selected(client.get(), &protocol, &size);
    result.protocol.assign(reinterpret_cast<const char*>(protocol), size);
    const unsigned char* status = nullptr;
    const long status_size = SSL_get_tlsext_status_ocsp_resp(client.get(), &status);
    if (status_size > 0) {
      result.status.assign(reinterpret_cast<const char*>(status),
                           static_cast<std::size_t>(status_size));
    }
    result.session.reset(SSL_get1_session(client.get()));
  }
  ERR_clear_error();
  SSL_set_shutdown(client.get(), SSL_SENT_SHUTDOWN | SSL_RECEIVED_SHUTDOWN);
  return result;
}

// Returns true if the client got that certificate.
inline bool shows(const Shaken& shaken, const Identity& identity) {
  return shaken.done && shaken.certificate != nullptr &&
         X509_cmp(shaken.certificate.get(), identity.certificate.get()) == 0;
}

}  // namespace h2server::net
