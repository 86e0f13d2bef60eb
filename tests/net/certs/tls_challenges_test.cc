#include "net/certs/tls_challenges.h"

#include <gtest/gtest.h>

#include <string>

#include "net/tls/tls_context.h"
#include "net/tls_handshake.h"

namespace h2server::net {
namespace tls_challenges_test {

constexpr const char* challenge_only = "\x0a"
                                       "acme-tls/1";

class TlsChallengesTest : public testing::TestWithParam<int> {
 protected:
  TlsChallengesTest() {
    const CertificateFiles site = files_.write_pair("site", site_);
    TlsOptions options{.certificates = {files_.write_pair("usual", usual_)},
                       .hosts = {{{"a.example"}, site.certificate_file, site.key_file, "", {}}},
                       .challenges = challenges_};
    context_ = TlsContext::open(options).value();
    options.challenges = nullptr;
    without_ = TlsContext::open(options).value();
  }

  static TlsChallenges::Pair pair_of(const Identity& identity) {
    X509_up_ref(identity.certificate.get());
    EVP_PKEY_up_ref(identity.key.get());
    return {Certificate(identity.certificate.get()), Key(identity.key.get())};
  }
  static Shaken connect(const TlsContext& context, const char* name, std::string protocols,
                        SSL_SESSION* session = nullptr) {
    return shake_hands(context, {.version_max = GetParam(),
                                 .name = name,
                                 .protocols = std::move(protocols),
                                 .session = session});
  }

  Files files_;
  Identity usual_ = make_identity("usual", ec_key(), nullptr);
  Identity site_ = make_identity("site", rsa_key(), nullptr);
  Identity proof_ = make_identity("proof", ec_key(), nullptr);
  std::shared_ptr<TlsChallenges> challenges_ = std::make_shared<TlsChallenges>();
  std::shared_ptr<const TlsContext> context_;
  std::shared_ptr<const TlsContext> without_;
};

INSTANTIATE_TEST_SUITE_P(Versions, TlsChallengesTest,
                         testing::Values(TLS1_2_VERSION, TLS1_3_VERSION), [](const auto& version) {
                           return version.param == TLS1_2_VERSION ? "Tls12" : "Tls13";
                         });

TEST_P(TlsChallengesTest, AnswersWhatOffersTheProtocolAlone) {
  challenges_->set("A.Example", pair_of(proof_));
  const Shaken shaken = connect(*context_, "a.example", challenge_only);
  EXPECT_TRUE(shows(shaken, proof_));
  EXPECT_EQ(shaken.protocol, challenge_protocol);
  EXPECT_TRUE(shows(connect(*context_, "a.eXAMPLE", challenge_only), proof_));
  challenges_->set("new.example", pair_of(proof_));
  EXPECT_TRUE(shows(connect(*context_, "new.example", challenge_only), proof_));
}

TEST_P(TlsChallengesTest, RefusesHostsThatAreNotInTheTable) {
  challenges_->set("a.example", pair_of(proof_));
  EXPECT_FALSE(connect(*context_, "b.example", challenge_only).done);
  EXPECT_FALSE(connect(*context_, "x.a.example", challenge_only).done);
  EXPECT_FALSE(connect(*context_, nullptr, challenge_only).done);
  challenges_->remove("A.example");
  EXPECT_FALSE(connect(*context_, "a.example", challenge_only).done);
  challenges_->set("a.example", pair_of(proof_));
  EXPECT_FALSE(connect(*without_, "a.example", challenge_only).done) << "there is no table";
}

TEST_P(TlsChallengesTest, LeavesOtherHandshakesAlone) {
  challenges_->set("a.example", pair_of(proof_));
  const std::string both = challenge_only + std::string("\x02h2");
  for (const std::string& protocols : {std::string(), std::string("\x02h2"), both}) {
    const Shaken shaken = connect(*context_, "a.example", protocols);
    EXPECT_TRUE(shows(shaken, site_));
    EXPECT_EQ(shaken.protocol, protocols.empty() ? "" : "h2");
    EXPECT_TRUE(shows(connect(*context_, "b.example", protocols), usual_));
  }
}

TEST_P(TlsChallengesTest, ShowsTheCertificateInEachHandshake) {
  challenges_->set("a.example", pair_of(proof_));
  const Shaken usual = connect(*context_, "a.example", "\x02h2");
  const Shaken first = connect(*context_, "a.example", challenge_only, usual.session.get());
  EXPECT_TRUE(shows(first, proof_) && !first.resumed);
  const Shaken second = connect(*context_, "a.example", challenge_only, first.session.get());
  EXPECT_TRUE(shows(second, proof_) && !second.resumed);
}

TEST_P(TlsChallengesTest, NeedsNoCertificateOfTheClient) {
  const CertificateFiles usual = files_.write_pair("usual", usual_);
  const auto context =
      TlsContext::open({.certificates = {usual},
                        .clients = TlsClients{.ca_file = usual.certificate_file, .required = true},
                        .challenges = challenges_});
  ASSERT_TRUE(context);
  challenges_->set("a.example", pair_of(proof_));
  EXPECT_TRUE(shows(connect(**context, "a.example", challenge_only), proof_));
  EXPECT_FALSE(connect(**context, "a.example", "\x02h2").done);
}

}  // namespace tls_challenges_test
}  // namespace h2server::net
