#include "net/certs/tls_ocsp.h"

#include <gtest/gtest.h>
#include <openssl/ocsp.h>

#include <ctime>
#include <string>

#include "net/tls/tls_context.h"
#include "net/tls_handshake.h"

namespace h2server::net {
namespace tls_ocsp_test {

std::int64_t clock_s = 0;
std::int64_t now() { return clock_s; }

using Time = std::unique_ptr<ASN1_TIME, FreeBy<ASN1_TIME_free>>;
using Id = std::unique_ptr<OCSP_CERTID, FreeBy<OCSP_CERTID_free>>;

struct Said {
  int status = V_OCSP_CERTSTATUS_GOOD;
  long from_s = -60;  // relative to now
  long to_s = 3600;
  bool has_end = true;
  const EVP_MD* digest = EVP_sha1();
};

std::string der_of(OCSP_RESPONSE* response) {
  unsigned char* bytes = nullptr;
  const int size = i2d_OCSP_RESPONSE(response, &bytes);
  std::string der(reinterpret_cast<char*>(bytes), static_cast<std::size_t>(size));
  OPENSSL_free(bytes);
  return der;
}

// What `issuer` says about the certificate, signed by `signer`.
std::string respond(const Identity& about, const Identity& issuer, const Identity& signer,
                    const Said& said = {}) {
  const std::unique_ptr<OCSP_BASICRESP, FreeBy<OCSP_BASICRESP_free>> basic(OCSP_BASICRESP_new());
  const Id id(OCSP_cert_to_id(said.digest, about.certificate.get(), issuer.certificate.get()));
  const Time begin(X509_gmtime_adj(nullptr, said.from_s));
  const Time end(X509_gmtime_adj(nullptr, said.to_s));
  const Time revoked(X509_gmtime_adj(nullptr, -600));
  OCSP_basic_add1_status(basic.get(), id.get(), said.status, OCSP_REVOKED_STATUS_NOSTATUS,
                         said.status == V_OCSP_CERTSTATUS_REVOKED ? revoked.get() : nullptr,
                         begin.get(), said.has_end ? end.get() : nullptr);
  EXPECT_EQ(OCSP_basic_sign(basic.get(), signer.certificate.get(), signer.key.get(), EVP_sha256(),
                            nullptr, 0),
            1);
  const std::unique_ptr<OCSP_RESPONSE, FreeBy<OCSP_RESPONSE_free>> response(
      OCSP_response_create(OCSP_RESPONSE_STATUS_SUCCESSFUL, basic.get()));
  return der_of(response.get());
}

class TlsOcspTest : public testing::TestWithParam<int> {
 protected:
  // The certificate's chain has its issuer if `has_chain`.
  std::shared_ptr<const TlsContext> open(const std::string& response, bool has_chain = true) {
    CertificateFiles pair = files_.write_pair("pair", mine_, has_chain ? &authority_ : nullptr);
    pair.ocsp_file = files_.path("ocsp");
    files_.write("ocsp", response);
    auto context = TlsContext::open({.certificates = {pair}});
    EXPECT_TRUE(context) << context.error();
    return context.value_or(nullptr);
  }
  static Shaken connect(const TlsContext& context, bool asks, const char* name = nullptr) {
    return shake_hands(context, {.version_max = GetParam(), .name = name, .asks_for_status = asks});
  }

  Files files_;
  Identity authority_ = make_identity("authority", ec_key(), nullptr);
  Identity stranger_ = make_identity("stranger", ec_key(), nullptr);
  Identity mine_ = make_identity("mine", ec_key(), &authority_, 2);
  Identity other_ = make_identity("other", ec_key(), &authority_, 3);
};

INSTANTIATE_TEST_SUITE_P(Versions, TlsOcspTest, testing::Values(TLS1_2_VERSION, TLS1_3_VERSION),
                         [](const auto& version) {
                           return version.param == TLS1_2_VERSION ? "Tls12" : "Tls13";
                         });

TEST_P(TlsOcspTest, IsSentToClientsThatAsk) {
  for (const EVP_MD* digest : {EVP_sha1(), EVP_sha256()}) {
    for (const bool has_chain : {true, false}) {
      for (const bool has_end : {true, false}) {
        const std::string response =
            respond(mine_, authority_, authority_, {.has_end = has_end, .digest = digest});
        const auto context = open(response, has_chain);
        EXPECT_TRUE(context->warnings().empty()) << context->warning();
        EXPECT_EQ(connect(*context, true).status, response);
        const Shaken unasked = connect(*context, false);
        EXPECT_TRUE(unasked.done && unasked.status.empty());
      }
    }
  }
}

// RFC 6960, 4.2.2.2.
TEST_P(TlsOcspTest, MayBeSignedByAResponderOfTheAuthority) {
  const Identity responder =
      make_identity("responder", ec_key(), &authority_, 9, -60, 3600, "OCSPSigning");
  const std::string response = respond(mine_, authority_, responder);
  const auto context = open(response);
  EXPECT_TRUE(context->warnings().empty()) << context->warning();
  EXPECT_EQ(connect(*context, true).status, response);
}

TEST_P(TlsOcspTest, IsThatOfTheCertificateThatIsChosen) {
  const std::string of_usual = respond(mine_, authority_, authority_);
  const Identity rsa = make_identity("mine", rsa_key(), &authority_, 4);
  const std::string of_host = respond(rsa, authority_, authority_);
  files_.write("usual.ocsp", of_usual);
  files_.write("host.ocsp", of_host);
  CertificateFiles usual = files_.write_pair("usual", mine_, &authority_);
  usual.ocsp_file = files_.path("usual.ocsp");
  CertificateFiles second = files_.write_pair("rsa", rsa, &authority_);
  second.ocsp_file = files_.path("host.ocsp");
  const CertificateFiles plain = files_.write_pair("other", other_, &authority_);
  const auto context = TlsContext::open(
      {.certificates = {usual},
       .hosts = {{{"rsa.example"}, second.certificate_file, second.key_file, second.ocsp_file, {}},
                 {{"plain.example"}, plain.certificate_file, plain.key_file, "", {}}}});
  ASSERT_TRUE(context) << context.error();
  EXPECT_EQ(connect(**context, true).status, of_usual);
  EXPECT_EQ(connect(**context, true, "rsa.example").status, of_host);
  const Shaken none = connect(**context, true, "plain.example");
  EXPECT_TRUE(none.done && none.status.empty());
}

TEST_P(TlsOcspTest, IsNotSentIfClientsWouldRefuseIt) {
  const auto error_response = [] {
    const std::unique_ptr<OCSP_RESPONSE, FreeBy<OCSP_RESPONSE_free>> response(
        OCSP_response_create(OCSP_RESPONSE_STATUS_TRYLATER, nullptr));
    return der_of(response.get());
  };
  struct Row {
    std::string response;
    std::string reason;
  };
  const std::vector<Row> rows = {
      {respond(mine_, authority_, authority_, {.from_s = -7200, .to_s = -1}), "has expired"},
      {respond(mine_, authority_, authority_, {.from_s = 3600, .to_s = 7200}), "not valid yet"},
      {respond(mine_, authority_, authority_, {.status = V_OCSP_CERTSTATUS_REVOKED}), "revoked"},
      {respond(mine_, authority_, authority_, {.status = V_OCSP_CERTSTATUS_UNKNOWN}),
       "does not know"},
      {respond(other_, authority_, authority_), "another certificate"},
      {respond(mine_, stranger_, stranger_), "another certificate"},
      {respond(mine_, authority_, stranger_), "is not signed by"},
      {respond(mine_, authority_, other_), "is not signed by"},  // it may not sign responses
      {error_response(), "trylater"},
  };
  for (const Row& row : rows) {
    SCOPED_TRACE(row.reason);
    const auto context = open(row.response);
    ASSERT_EQ(context->warnings().size(), 1U);
    EXPECT_NE(context->warning().find(row.reason), std::string::npos) << context->warning();
    EXPECT_NE(context->warning().find(files_.path("ocsp")), std::string::npos);
    const Shaken shaken = connect(*context, true);
    EXPECT_TRUE(shaken.done && shaken.status.empty());
  }
  EXPECT_EQ(ERR_peek_error(), 0U);
}

TEST_P(TlsOcspTest, IsNotSentOnceItHasExpired) {
  const auto context = open(respond(other_, authority_, authority_));  // sends none by itself
  const std::string response = respond(mine_, authority_, authority_);
  OcspResponses responses(now);
  responses.add(SSL_CTX_get0_certificate(context->get()), {.der = response, .end_s = 1000});
  responses.install(context->get());
  clock_s = 999;
  EXPECT_EQ(connect(*context, true).status, response);
  clock_s = 1000;
  const Shaken shaken = connect(*context, true);
  EXPECT_TRUE(shaken.done && shaken.status.empty());
}

TEST(TlsOcspFileTest, MustBeAResponse) {
  const Files files;
  const Identity authority = make_identity("authority", ec_key(), nullptr);
  const Identity mine = make_identity("mine", ec_key(), &authority, 2);
  CertificateFiles pair = files.write_pair("pair", mine);
  const std::string response = respond(mine, authority, authority);
  for (const std::string& bytes :
       {std::string(), std::string("text"), response + "x", response.substr(0, response.size() - 1),
        std::string(100'000, '0')}) {
    files.write("ocsp", bytes);
    pair.ocsp_file = files.path("ocsp");
    const auto context = TlsContext::open({.certificates = {pair}});
    ASSERT_FALSE(context) << bytes.size();
    EXPECT_NE(context.error().find(pair.ocsp_file + " holds no OCSP response"), std::string::npos)
        << context.error();
  }
  // Each of the others is a file that can't be read.
  for (const std::string name : {"gone", "."}) {
    pair.ocsp_file = files.path(name);
    const auto context = TlsContext::open({.certificates = {pair}});
    ASSERT_FALSE(context) << name;
    EXPECT_NE(context.error().find("can't read the OCSP response"), std::string::npos)
        << context.error();
  }
  EXPECT_EQ(ERR_peek_error(), 0U);
}

}  // namespace tls_ocsp_test
}  // namespace h2server::net
