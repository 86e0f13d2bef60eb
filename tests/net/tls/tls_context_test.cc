// Several certificates for a host, and contexts that follow each other when files change.
#include "net/tls/tls_context.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "net/tls/tls_current.h"
#include "net/tls_handshake.h"

namespace h2server::net {
namespace tls_context_test {

constexpr const char* rsa_only = "rsa_pss_rsae_sha256:rsa_pkcs1_sha256";
constexpr const char* ecdsa_only = "ecdsa_secp256r1_sha256";

class TlsContextTest : public testing::TestWithParam<int> {
 protected:
  static std::shared_ptr<const TlsContext> open(const TlsOptions& options,
                                                const TlsContext* previous = nullptr) {
    auto context = TlsContext::open(options, previous);
    EXPECT_TRUE(context) << context.error();
    return context.value_or(nullptr);
  }
  static Shaken connect(const TlsContext& context, ClientWishes wishes = {}) {
    wishes.version_max = GetParam();
    return shake_hands(context, wishes);
  }

  Files files_;
  Identity authority_ = make_identity("authority", ec_key(), nullptr);
  Identity ecdsa_ = make_identity("usual", ec_key(), &authority_, 2);
  Identity rsa_ = make_identity("usual", rsa_key(), &authority_, 3);
};

INSTANTIATE_TEST_SUITE_P(Versions, TlsContextTest, testing::Values(TLS1_2_VERSION, TLS1_3_VERSION),
                         [](const auto& version) {
                           return version.param == TLS1_2_VERSION ? "Tls12" : "Tls13";
                         });

TEST_P(TlsContextTest, AClientGetsTheCertificateThatItSupports) {
  const CertificateFiles rsa = files_.write_pair("rsa", rsa_);
  const CertificateFiles ecdsa = files_.write_pair("ecdsa", ecdsa_);
  for (const auto& order : {std::vector{rsa, ecdsa}, std::vector{ecdsa, rsa}}) {
    const auto context = open({.certificates = order});
    EXPECT_TRUE(shows(connect(*context), ecdsa_)) << "the preference";
    EXPECT_TRUE(shows(connect(*context, {.signature_algorithms = rsa_only}), rsa_));
    EXPECT_TRUE(shows(connect(*context, {.signature_algorithms = ecdsa_only}), ecdsa_));
  }
}

TEST_P(TlsContextTest, AHostHasItsOwnCertificatesOnly) {
  const Identity host_rsa = make_identity("host", rsa_key(), &authority_, 4);
  const Identity host_ecdsa = make_identity("host", ec_key(), &authority_, 5);
  const Identity other = make_identity("other", rsa_key(), &authority_, 6);
  const CertificateFiles first = files_.write_pair("host_rsa", host_rsa);
  const CertificateFiles second = files_.write_pair("host_ecdsa", host_ecdsa);
  const CertificateFiles third = files_.write_pair("other", other);
  const auto context = open(
      {.certificates = {files_.write_pair("rsa", rsa_), files_.write_pair("ecdsa", ecdsa_)},
       .hosts = {
           {{"a.example", "*.a.example"}, first.certificate_file, first.key_file, "", {second}},
           {{"b.example"}, third.certificate_file, third.key_file, "", {}}}});
  EXPECT_TRUE(shows(connect(*context, {.name = "a.example"}), host_ecdsa));
  EXPECT_TRUE(shows(connect(*context, {.name = "x.a.example"}), host_ecdsa));
  EXPECT_TRUE(
      shows(connect(*context, {.name = "A.example", .signature_algorithms = rsa_only}), host_rsa));
  EXPECT_TRUE(shows(connect(*context, {.name = "c.example"}), ecdsa_));
  // Its host has no ECDSA certificate: that of the others is no substitute.
  EXPECT_TRUE(shows(connect(*context, {.name = "b.example"}), other));
  EXPECT_FALSE(connect(*context, {.name = "b.example", .signature_algorithms = ecdsa_only}).done);
}

TEST_P(TlsContextTest, SessionsOutliveAChangeOfCertificates) {
  const CertificateFiles pair = files_.write_pair("pair", ecdsa_);
  const TlsOptions options{.certificates = {pair}};
  const auto before = open(options);
  const Shaken first = connect(*before);
  ASSERT_TRUE(shows(first, ecdsa_));
  const Identity renewed = make_identity("usual", ec_key(), &authority_, 7);
  files_.write_pair("pair", renewed);
  const auto after = open(options, before.get());
  EXPECT_TRUE(shows(connect(*after), renewed));
  EXPECT_TRUE(shows(connect(*before), ecdsa_)) << "connections that began before go on";
  EXPECT_TRUE(connect(*after, {.session = first.session.get()}).resumed);
  // Also when the first one has ended.
  const Shaken second = connect(*before);
  CurrentTls current;
  current.set(before);
  current.set(after);
  EXPECT_EQ(current.get(), after);
  EXPECT_TRUE(connect(*current.get(), {.session = second.session.get()}).resumed);
  EXPECT_FALSE(connect(*open(options), {.session = second.session.get()}).resumed);
}

// A ticket says that the client was verified, or that it need not be.
TEST_P(TlsContextTest, SessionsEndWhenOtherClientsAreTrusted) {
  const auto write_ca = [&](const Identity& authority) { files_.write_pair("ca", authority); };
  write_ca(authority_);
  TlsOptions options{.certificates = {files_.write_pair("pair", ecdsa_)}};
  const auto unasked = open(options);
  options.clients = {.ca_file = files_.path("ca.crt")};
  const auto before = open(options, unasked.get());
  const Shaken stranger = connect(*unasked);
  EXPECT_FALSE(connect(*before, {.session = stranger.session.get()}).resumed);
  const Shaken first = connect(*before);
  EXPECT_TRUE(connect(*open(options, before.get()), {.session = first.session.get()}).resumed);
  write_ca(make_identity("authority", ec_key(), nullptr));
  EXPECT_FALSE(connect(*open(options, before.get()), {.session = first.session.get()}).resumed);
  write_ca(authority_);
  options.clients->required = true;
  EXPECT_FALSE(connect(*open(options, before.get()), {.session = first.session.get()}).done);
}

TEST_P(TlsContextTest, AnEncryptedKeyIsRememberedWhileItFits) {
  const CertificateFiles pair = files_.write_pair("pair", ecdsa_, nullptr, "secret");
  TlsOptions options{.certificates = {pair}};
  options.passphrase = [](const std::string&) -> Result<std::string, std::string> {
    return "secret";
  };
  const auto before = open(options);
  options.passphrase = {};
  EXPECT_FALSE(TlsContext::open(options));
  // Renewed with the same key.
  EVP_PKEY_up_ref(ecdsa_.key.get());
  const Identity renewed = make_identity("usual", Key(ecdsa_.key.get()), &authority_, 8);
  files_.write_pair("pair", renewed, nullptr, "secret");
  const auto after = open(options, before.get());
  EXPECT_TRUE(shows(connect(*after), renewed));
  // With another key.
  files_.write_pair("pair", make_identity("usual", ec_key(), &authority_, 9), nullptr, "secret");
  const auto refused = TlsContext::open(options, after.get());
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().find(pair.key_file), std::string::npos) << refused.error();
  EXPECT_NE(refused.error().find("encrypted"), std::string::npos) << refused.error();
}

TEST_P(TlsContextTest, ProblemsNameTheFile) {
  const CertificateFiles usual = files_.write_pair("usual", ecdsa_);
  const CertificateFiles same =
      files_.write_pair("same", make_identity("x", ec_key(), &authority_));
  const CertificateFiles rsa = files_.write_pair("rsa", rsa_);
  files_.write("text", "no certificate");
  struct Row {
    std::vector<CertificateFiles> files;
    std::string named;
  };
  const std::vector<Row> rows = {
      {{usual, {files_.path("gone"), rsa.key_file}}, files_.path("gone")},
      {{usual, {rsa.certificate_file, files_.path("gone")}}, files_.path("gone")},
      {{usual, {files_.path("text"), rsa.key_file}}, files_.path("text")},
      {{usual, {rsa.certificate_file, files_.path("text")}}, files_.path("text")},
      {{usual, {rsa.certificate_file, usual.key_file}}, rsa.certificate_file},
      {{usual, same}, same.certificate_file},
      {{usual, same}, usual.certificate_file},
      {{{usual.certificate_file, usual.key_file, files_.path("gone")}}, files_.path("gone")},
      {{{usual.certificate_file, usual.key_file, files_.path("text")}}, files_.path("text")},
  };
  for (const Row& row : rows) {
    SCOPED_TRACE(row.named);
    const auto context = TlsContext::open({.certificates = row.files});
    ASSERT_FALSE(context);
    EXPECT_NE(context.error().find(row.named), std::string::npos) << context.error();
    const std::vector<CertificateFiles> more(row.files.begin() + 1, row.files.end());
    const auto host = TlsContext::open({.certificates = {usual},
                                        .hosts = {{{"a.example"},
                                                   row.files.front().certificate_file,
                                                   row.files.front().key_file,
                                                   row.files.front().ocsp_file,
                                                   more}}});
    ASSERT_FALSE(host);
    EXPECT_EQ(host.error(), context.error());
  }
  EXPECT_EQ(ERR_peek_error(), 0U);
}

TEST_P(TlsContextTest, WarnsOfEachCertificateOnce) {
  const Identity old = make_identity("old", ec_key(), &authority_, 4, -7200, -3600);
  const Identity young = make_identity("young", rsa_key(), &authority_, 5, 3600, 7200);
  const CertificateFiles expired = files_.write_pair("expired", old);
  const CertificateFiles early = files_.write_pair("early", young);
  const auto context =
      open({.certificates = {expired, early},
            .hosts = {{{"a.example"}, expired.certificate_file, expired.key_file, "", {}}}});
  ASSERT_EQ(context->warnings().size(), 2U);
  EXPECT_NE(context->warnings()[0].find(early.certificate_file), std::string::npos);
  EXPECT_NE(context->warnings()[1].find(expired.certificate_file), std::string::npos);
  EXPECT_TRUE(open({.certificates = {files_.write_pair("pair", ecdsa_)}})->warnings().empty());
}

}  // namespace tls_context_test
}  // namespace h2server::net
