// Certificates of clients, and what a handler knows of a TLS session, in BIO pairs.
#include "net/tls/tls_clients.h"

#include <gtest/gtest.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>

#include <array>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include "net/certs/tls_certificate.h"
#include "net/crypto/tls_objects.h"
#include "net/tls/tls_context.h"
#include "net/tls/tls_info.h"

namespace h2server::net {
namespace tls_clients_test {

using Context = std::unique_ptr<SSL_CTX, FreeBy<SSL_CTX_free>>;
using Ssl = std::unique_ptr<SSL, FreeBy<SSL_free>>;
using Session = std::unique_ptr<SSL_SESSION, FreeBy<SSL_SESSION_free>>;

struct Identity {
  Key key{EVP_EC_gen("P-256")};
  Certificate certificate;
};

// Makes a certificate that `authority` signs, or the certificate itself. `from_s` and `to_s` are
// relative to now.
Identity make_identity(const char* name, const Identity* authority, const char* usage,
                       long from_s = -60, long to_s = 3600) {
  Identity made;
  made.certificate.reset(X509_new());
  X509* const certificate = made.certificate.get();
  X509_set_version(certificate, X509_VERSION_3);
  ASN1_INTEGER_set(X509_get_serialNumber(certificate), 1);
  X509_gmtime_adj(X509_getm_notBefore(certificate), from_s);
  X509_gmtime_adj(X509_getm_notAfter(certificate), to_s);
  X509_set_pubkey(certificate, made.key.get());
  X509_NAME* const subject = X509_get_subject_name(certificate);
  const auto add = [&](const char* field, const char* value) {
    X509_NAME_add_entry_by_txt(subject, field, MBSTRING_UTF8,
                               reinterpret_cast<const unsigned char*>(value), -1, -1, 0);
  };
  add("O", "Example, Inc.");
  add("CN", name);
  const Identity& issuer = authority != nullptr ? *authority : made;
  X509_set_issuer_name(certificate, X509_get_subject_name(issuer.certificate.get()));
  const char* const is_authority = authority == nullptr ? "critical,CA:TRUE" : "critical,CA:FALSE";
  for (const auto& [kind, value] :
       {std::pair(NID_basic_constraints, is_authority), std::pair(NID_ext_key_usage, usage)}) {
    if (kind == NID_ext_key_usage && authority == nullptr) continue;
    X509_EXTENSION* const extension = X509V3_EXT_conf_nid(nullptr, nullptr, kind, value);
    X509_add_ext(certificate, extension, -1);
    X509_EXTENSION_free(extension);
  }
  EXPECT_GT(X509_sign(certificate, issuer.key.get(), EVP_sha256()), 0);
  return made;
}

std::string pem_of(const Identity& identity) {
  const Bio bio(BIO_new(BIO_s_mem()));
  PEM_write_bio_X509(bio.get(), identity.certificate.get());
  char* bytes = nullptr;
  const long size = BIO_get_mem_data(bio.get(), &bytes);
  return {bytes, static_cast<std::size_t>(size)};
}

struct Outcome {
  bool accepted = false;
  bool resumed = false;
  std::optional<TlsInfo> info;
  Session session;
};

class TlsClientsTest : public testing::TestWithParam<int> {
 protected:
  TlsClientsTest() {
    EXPECT_NE(::mkdtemp(folder_.data()), nullptr);
    EXPECT_TRUE(make_self_signed(folder_ + "/crt", folder_ + "/key"));
    write("ca", pem_of(authority_));
  }
  ~TlsClientsTest() override { std::filesystem::remove_all(folder_); }

  void write(const std::string& name, const std::string& text) const {
    std::ofstream(folder_ + "/" + name) << text;
  }
  std::shared_ptr<const TlsContext> open(bool required) const {
    const TlsClients clients{.ca_file = folder_ + "/ca", .required = required};
    return TlsContext::open(folder_ + "/crt", folder_ + "/key", {}, clients).value();
  }

  // Connects a client with that certificate, if there is one, and passes a byte in each direction.
  static Outcome connect(const TlsContext& context, const Identity* identity,
                         SSL_SESSION* offered = nullptr) {
    const Context settings(SSL_CTX_new(TLS_client_method()));
    SSL_CTX_set_max_proto_version(settings.get(), GetParam());
    if (identity != nullptr) {
      SSL_CTX_use_certificate(settings.get(), identity->certificate.get());
      SSL_CTX_use_PrivateKey(settings.get(), identity->key.get());
    }
    const Ssl client(SSL_new(settings.get()));
    const Ssl server(SSL_new(context.get()));
    SSL_set_tlsext_host_name(client.get(), "name.example");
    std::array<BIO*, 2> ends{};
    EXPECT_EQ(BIO_new_bio_pair(&ends[0], 0, &ends[1], 0), 1);
    SSL_set_bio(client.get(), ends[0], ends[0]);
    SSL_set_bio(server.get(), ends[1], ends[1]);
    SSL_set_connect_state(client.get());
    SSL_set_accept_state(server.get());
    if (offered != nullptr) {
      EXPECT_EQ(SSL_set_session(client.get(), offered), 1);
    }
    Outcome outcome;
    for (int round = 0; round < 10 && !outcome.accepted; ++round) {
      const bool connected = SSL_do_handshake(client.get()) == 1;
      outcome.accepted = SSL_do_handshake(server.get()) == 1 && connected;
    }
    if (outcome.accepted) {  // TLS 1.3 sends its tickets after the handshake
      char byte = 'x';
      EXPECT_EQ(SSL_write(server.get(), &byte, 1), 1);
      EXPECT_EQ(SSL_read(client.get(), &byte, 1), 1);
      outcome.resumed = SSL_session_reused(server.get()) == 1;
      outcome.info = TlsSession(*server).info();
      SSL_set_shutdown(client.get(), SSL_SENT_SHUTDOWN | SSL_RECEIVED_SHUTDOWN);
      outcome.session.reset(SSL_get1_session(client.get()));
    }
    ERR_clear_error();
    return outcome;
  }

  std::string folder_ = testing::TempDir() + "tls_clients_XXXXXX";
  const Identity authority_ = make_identity("Authority", nullptr, nullptr);
  const Identity stranger_ = make_identity("Authority", nullptr, nullptr);
  const Identity alice_ = make_identity("Alice", &authority_, "clientAuth");
  // Its last second was a minute ago.
  const Identity expired_ = make_identity("Alice", &authority_, "clientAuth", -7200, -60);
};

INSTANTIATE_TEST_SUITE_P(Versions, TlsClientsTest, testing::Values(TLS1_2_VERSION, TLS1_3_VERSION),
                         [](const auto& version) {
                           return version.param == TLS1_2_VERSION ? "Tls12" : "Tls13";
                         });

TEST_P(TlsClientsTest, OnlyVerifiedCertificatesAreAccepted) {
  const Identity mallory = make_identity("Alice", &stranger_, "clientAuth");
  const Identity server = make_identity("Alice", &authority_, "serverAuth");
  const Identity later = make_identity("Alice", &authority_, "clientAuth", 3600, 7200);
  struct Row {
    const char* name;
    const Identity* identity;
    bool optional;  // accepted by a server that does not require a certificate
    bool required;
  };
  const std::vector<Row> rows = {
      {"none", nullptr, true, false},
      {"good", &alice_, true, true},
      {"another authority", &mallory, false, false},
      {"an authority, of itself", &stranger_, false, false},
      {"for servers", &server, false, false},
      {"expired", &expired_, false, false},
      {"not valid yet", &later, false, false},
  };
  const auto optional = open(false);
  const auto required = open(true);
  for (const Row& row : rows) {
    EXPECT_EQ(connect(*optional, row.identity).accepted, row.optional) << row.name;
    EXPECT_EQ(connect(*required, row.identity).accepted, row.required) << row.name;
  }
}

TEST_P(TlsClientsTest, InfoHasTheSessionAndTheCertificate) {
  const auto context = open(false);
  const Outcome with = connect(*context, &alice_);
  ASSERT_TRUE(with.info);
  const bool tls12 = GetParam() == TLS1_2_VERSION;
  EXPECT_EQ(with.info->version, tls12 ? "TLSv1.2" : "TLSv1.3");
  EXPECT_TRUE(with.info->cipher.starts_with(tls12 ? "TLS_ECDHE_ECDSA_WITH_" : "TLS_"))
      << with.info->cipher;
  EXPECT_EQ(with.info->server_name, "name.example");
  ASSERT_TRUE(with.info->client_certificate);
  EXPECT_EQ(with.info->client_certificate->subject, "CN=Alice,O=Example\\, Inc.");
  EXPECT_EQ(with.info->client_certificate->pem, pem_of(alice_));
  const Outcome without = connect(*context, nullptr);
  ASSERT_TRUE(without.info);
  EXPECT_FALSE(without.info->client_certificate);
}

TEST_P(TlsClientsTest, AResumedSessionKeepsItsCertificateAndItsName) {
  for (const bool required : {false, true}) {
    const auto context = open(required);
    const Outcome first = connect(*context, &alice_);
    ASSERT_TRUE(first.accepted);
    EXPECT_FALSE(first.resumed);
    // The client shows no certificate this time.
    const Outcome second = connect(*context, nullptr, first.session.get());
    ASSERT_TRUE(second.resumed);
    ASSERT_TRUE(second.info->client_certificate);
    EXPECT_EQ(second.info->client_certificate->pem, pem_of(alice_));
    EXPECT_EQ(second.info->server_name, "name.example");
  }
}

TEST_P(TlsClientsTest, ASessionEndsWithItsCertificate) {
  const auto context = open(true);
  X509_VERIFY_PARAM* const rules = SSL_CTX_get0_param(context->get());
  X509_VERIFY_PARAM_set_flags(rules, X509_V_FLAG_NO_CHECK_TIME);  // as if it were an hour ago
  const Outcome first = connect(*context, &expired_);
  ASSERT_TRUE(first.accepted);
  X509_VERIFY_PARAM_clear_flags(rules, X509_V_FLAG_NO_CHECK_TIME);
  EXPECT_FALSE(connect(*context, nullptr, first.session.get()).accepted);
  EXPECT_FALSE(connect(*context, &expired_, first.session.get()).accepted);
  const Outcome renewed = connect(*context, &alice_, first.session.get());
  EXPECT_TRUE(renewed.accepted);
  EXPECT_FALSE(renewed.resumed);
}

TEST_P(TlsClientsTest, ASessionWithoutACertificateDoesNotOpenAnotherServer) {
  const auto plain = TlsContext::open(folder_ + "/crt", folder_ + "/key").value();
  const auto optional = open(false);
  const auto required = open(true);
  const Outcome stranger = connect(*plain, nullptr);
  const Outcome anonymous = connect(*optional, nullptr);
  ASSERT_TRUE(stranger.accepted && anonymous.accepted);
  EXPECT_TRUE(connect(*optional, nullptr, anonymous.session.get()).resumed);
  EXPECT_FALSE(connect(*required, nullptr, stranger.session.get()).accepted);
  EXPECT_FALSE(connect(*required, nullptr, anonymous.session.get()).accepted);
  // Even if the rule changes while the keys of the tickets stay.
  SSL_CTX_set_verify(optional->get(), SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, nullptr);
  EXPECT_FALSE(connect(*optional, nullptr, anonymous.session.get()).accepted);
}

TEST_P(TlsClientsTest, WrongFilesAreErrors) {
  write("text", "no certificate");
  write("empty", "");
  for (const std::string name : {"gone", "text", "empty", "key", ""}) {
    const TlsClients clients{.ca_file = folder_ + "/" + name};
    const auto context = TlsContext::open(folder_ + "/crt", folder_ + "/key", {}, clients);
    ASSERT_FALSE(context) << name;
    EXPECT_NE(context.error().find(clients.ca_file), std::string::npos) << context.error();
    EXPECT_EQ(context.error().find('\n'), std::string::npos);
  }
  EXPECT_EQ(ERR_peek_error(), 0U);
}

}  // namespace tls_clients_test
}  // namespace h2server::net
