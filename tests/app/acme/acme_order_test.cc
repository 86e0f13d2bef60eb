#include "app/acme/acme_order.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "app/acme/acme_jose.h"
#include "app/acme_authority.h"

namespace h2server::app {
namespace acme_order_test {

using std::chrono::milliseconds;
using tests::AcmeAuthority;

// An order whose waits and requests move a clock, and take no time.
class AcmeOrders : public testing::Test {
 protected:
  Result<std::string, AcmeFailure> run(const AcmeOrderRequest& request) {
    return order_certificate(session_, request, hooks_);
  }
  Result<std::string, AcmeFailure> run() { return run(request_); }

  AcmeAuthority authority_;
  const net::SigningKey account_ = net::SigningKey::make();
  const net::SigningKey key_ = net::SigningKey::make();
  std::chrono::steady_clock::time_point now_;
  std::chrono::seconds request_time_{0};
  unsigned requests_ = 0;
  const AcmeTransport transport_ =
      [this, inner = authority_.transport()](
          const AcmeRequest& request) -> Result<AcmeResponse, std::string> {
    constexpr unsigned many = 5'000;  // a loop without an end is to fail
    if (++requests_ > many) return std::unexpected("there was no end of requests");
    now_ += request_time_;
    return inner(request);
  };
  AcmeSession session_{{.directory = "https://ca.test/directory",
                        .email = "a@ca.test",
                        .key_pem = account_.pem(),
                        .now = [this] { return now_; }},
                       transport_};
  AcmeOrderRequest request_{
      .hosts = {"a.test"},
      .challenge = "http-01",
      .csr = net::make_certificate_request(key_, std::vector<std::string>{"a.test"})};
  std::vector<std::string> log_;  // of hooks
  std::vector<milliseconds> waits_;
  bool goes_on_ = true;
  bool settles_ = true;
  const AcmeOrderHooks hooks_{
      .provide =
          [this](const std::string& host, const std::string& token, const std::string& proof) {
            EXPECT_EQ(proof, token + '.' + thumbprint_of(public_jwk(account_)));
            log_.push_back("provide " + host + ' ' + token);
          },
      .withdraw =
          [this](const std::string& host, const std::string& token) {
            log_.push_back("withdraw " + host + ' ' + token);
          },
      .settle = [this]() -> Result<void, std::string> {
        log_.push_back("settle");
        if (!settles_) return std::unexpected("the store failed");
        return {};
      },
      .wait =
          [this](milliseconds time) {
            waits_.push_back(time);
            now_ += time;
            return goes_on_;
          }};
};

TEST_F(AcmeOrders, Whole) {
  const auto chain = run();
  ASSERT_TRUE(chain) << chain.error().reason;
  EXPECT_TRUE(net::check_issued(*chain, key_, request_.hosts, 0));
  EXPECT_EQ(authority_.conversation(),
            "GET /directory, HEAD /nonce, POST /account, POST /order, POST /authorization/a.test, "
            "POST /challenge/a.test, POST /authorization/a.test, POST /order/1, POST /finalize, "
            "POST /order/1, POST /certificate");
  EXPECT_EQ(log_, (std::vector<std::string>{"provide a.test token-1", "settle",
                                            "withdraw a.test token-1"}));
  const auto received = authority_.received();
  EXPECT_EQ(received[2].payload, R"({"termsOfServiceAgreed":true,"contact":["mailto:a@ca.test"]})");
  EXPECT_EQ(received[3].payload, R"({"identifiers":[{"type":"dns","value":"a.test"}]})");
  EXPECT_EQ(received[5].payload, "{}");
  EXPECT_EQ(received[6].payload, "") << "POST-as-GET";
}

TEST_F(AcmeOrders, AllHostsAtOnce) {
  request_.hosts = {"a.test", "b.test", "c.test"};
  const auto chain = run();
  ASSERT_TRUE(chain) << chain.error().reason;
  EXPECT_EQ(log_,
            (std::vector<std::string>{"provide a.test token-1", "provide b.test token-1",
                                      "provide c.test token-1", "settle", "withdraw a.test token-1",
                                      "withdraw b.test token-1", "withdraw c.test token-1"}));
}

// No server but this one would answer.
TEST_F(AcmeOrders, TheAuthorityLooksAtNothingThatIsNotSettled) {
  settles_ = false;
  const auto chain = run();
  ASSERT_FALSE(chain);
  EXPECT_EQ(chain.error().reason, "the store failed");
  EXPECT_EQ(authority_.count("POST /challenge/a.test"), 0u);
  EXPECT_EQ(log_.back(), "withdraw a.test token-1");
}

TEST_F(AcmeOrders, SecondOneKeepsTheAccount) {
  ASSERT_TRUE(run());
  ASSERT_TRUE(run());
  EXPECT_EQ(authority_.count("POST /account"), 1u);
  EXPECT_EQ(authority_.count("GET /directory"), 1u);
  session_.forget();
  ASSERT_TRUE(run());
  EXPECT_EQ(authority_.count("POST /account"), 2u);
  EXPECT_EQ(authority_.count("GET /directory"), 2u);
}

TEST_F(AcmeOrders, KnownHostsNeedNoChallenge) {
  authority_.set({.authorized = true});
  EXPECT_TRUE(run());
  EXPECT_TRUE(log_.empty());
}

TEST_F(AcmeOrders, NoncesAreTriedAgain) {
  authority_.set({.bad_nonces = 5});
  EXPECT_TRUE(run());
  EXPECT_EQ(authority_.count("POST /account"), 6u);
  authority_.set({.bad_nonces = 1000});
  const auto chain = run();
  ASSERT_FALSE(chain);
  EXPECT_EQ(chain.error().type, "badNonce");
}

TEST_F(AcmeOrders, WaitsGrow) {
  authority_.set({.pending_polls = 9, .processing_polls = 2});
  ASSERT_TRUE(run());
  using namespace std::chrono_literals;
  EXPECT_EQ(waits_, (std::vector<milliseconds>{150ms, 300ms, 600ms, 1200ms, 2400ms, 4800ms, 9600ms,
                                               10s, 10s, 150ms, 300ms}));
}

TEST_F(AcmeOrders, WaitsAsTheServerAsks) {
  authority_.set({.pending_polls = 2, .retry_after = std::chrono::seconds(7)});
  ASSERT_TRUE(run());
  ASSERT_FALSE(waits_.empty());
  for (const milliseconds wait : waits_) EXPECT_EQ(wait, std::chrono::seconds(7));
}

TEST_F(AcmeOrders, TakesNoLongerThanItMay) {
  authority_.set({.pending_polls = 1'000'000});
  const auto chain = run();
  ASSERT_FALSE(chain);
  EXPECT_EQ(chain.error().reason, "the authority takes too long");
  EXPECT_EQ(chain.error().retry_after, std::chrono::seconds(10));
  EXPECT_EQ(log_.back(), "withdraw a.test token-1");
}

// RFC 9110, 10.2.3: the largest number of seconds is more than milliseconds can count.
TEST_F(AcmeOrders, WaitsForNoYears) {
  authority_.set({.pending_polls = 5, .retry_after = std::chrono::seconds::max()});
  const auto chain = run();
  ASSERT_FALSE(chain);
  EXPECT_EQ(chain.error().reason, "the authority takes too long");
  EXPECT_EQ(chain.error().retry_after, std::chrono::hours(24));
  EXPECT_TRUE(waits_.empty());
}

TEST_F(AcmeOrders, WaitsForASecondAtLeast) {
  authority_.set({.pending_polls = 3, .retry_after = std::chrono::seconds(0)});
  ASSERT_TRUE(run());
  ASSERT_FALSE(waits_.empty());
  for (const milliseconds wait : waits_) EXPECT_EQ(wait, std::chrono::seconds(1));
}

// Each row: the status of the order after each finalization. It never becomes valid.
TEST_F(AcmeOrders, ThatIsNeverDone) {
  for (const char* const status : {"pending", "ready", "processing"}) {
    authority_.set({.finalized = status});
    const unsigned before = authority_.count("POST /finalize");
    waits_.clear();
    requests_ = 0;
    const auto chain = run();
    ASSERT_FALSE(chain) << status;
    EXPECT_EQ(chain.error().reason, "the authority takes too long") << status;
    const unsigned finalized = authority_.count("POST /finalize") - before;
    EXPECT_LE(finalized, waits_.size()) << status << ": a pause lies before each but the first";
    EXPECT_GT(waits_.back(), std::chrono::seconds(5)) << status << ": pauses grow";
  }
}

// A request may take half a minute, and an order has many.
TEST_F(AcmeOrders, SlowAnswersTakeNoLongerThanAnOrderMay) {
  request_time_ = std::chrono::seconds(29);
  authority_.set({.authorized = false, .more_authorizations = 1'000});
  auto chain = run();
  ASSERT_FALSE(chain);
  EXPECT_EQ(chain.error().reason, "the authority takes too long");
  EXPECT_LE(requests_, 11u);
  EXPECT_EQ(log_.back(), "withdraw a.test token-1");

  requests_ = 0;
  authority_.set({.bad_nonces = 1'000});
  chain = run();
  ASSERT_FALSE(chain);
  EXPECT_EQ(chain.error().reason, "the authority takes too long");
  EXPECT_LE(requests_, 11u);

  request_time_ = std::chrono::seconds(0);
  authority_.set({.window = R"({"start":"2000-01-01T00:00:00Z","end":"2000-01-02T00:00:00Z"})"});
  EXPECT_TRUE(run()) << "the next order has time again";
  now_ += std::chrono::hours(1);
  EXPECT_TRUE(session_.renewal_advice({.authority_key = "k", .serial = "1"}));
}

TEST_F(AcmeOrders, NoCertificateUrl) {
  authority_.set({.certificate_url = false});
  const auto chain = run();
  ASSERT_FALSE(chain);
  EXPECT_EQ(chain.error().reason, "the authority gives the certificate no URL");
}

TEST_F(AcmeOrders, NoncesThatAreNone) {
  authority_.set({.nonce = "n\r\nX-Forged: 1"});
  const auto chain = run();
  ASSERT_FALSE(chain);
  EXPECT_EQ(chain.error().reason, "the authority gives no nonce");
}

// Nothing of the authority begins a line of the log, or changes a terminal.
TEST_F(AcmeOrders, HostileTexts) {
  authority_.set({.challenges = {"dns-01"}, .identifier = "x\nh2server: error: \x1b[31mforged"});
  const auto chain = run();
  ASSERT_FALSE(chain);
  EXPECT_EQ(chain.error().reason, "the authority asks for a host that was not ordered");
  EXPECT_TRUE(log_.empty());

  const AcmeTransport broken = [](const AcmeRequest&) -> Result<AcmeResponse, std::string> {
    return std::unexpected("no host x\nforged");
  };
  AcmeSession session({.directory = "https://ca.test/", .key_pem = account_.pem()}, broken);
  const auto none = order_certificate(session, request_, hooks_);
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().reason, "no host x?forged");
}

TEST_F(AcmeOrders, RedirectsAreRefused) {
  authority_.set({.order_error = std::pair(302, std::string())});
  const auto chain = run();
  ASSERT_FALSE(chain);
  EXPECT_EQ(chain.error().reason, "it answers 302");
  EXPECT_EQ(authority_.count("POST /order"), 1u);
}

TEST_F(AcmeOrders, Stops) {
  goes_on_ = false;
  EXPECT_FALSE(run());
  EXPECT_EQ(waits_.size(), 1u);
  EXPECT_EQ(log_.back(), "withdraw a.test token-1");
}

TEST_F(AcmeOrders, FailedChallenge) {
  authority_.set({.challenge_fails = true});
  const auto chain = run();
  ASSERT_FALSE(chain);
  EXPECT_EQ(chain.error().reason, "http-01 for a.test failed: refused?by it (connection)");
  EXPECT_EQ(chain.error().type, "connection");
  EXPECT_EQ(log_.back(), "withdraw a.test token-1");
}

TEST_F(AcmeOrders, NoSuchChallenge) {
  authority_.set({.challenges = {"dns-01"}});
  const auto chain = run();
  ASSERT_FALSE(chain);
  EXPECT_EQ(chain.error().reason, "the authority offers no http-01 for a.test");
  EXPECT_TRUE(log_.empty());
}

TEST_F(AcmeOrders, StrangeTokensAreNotServed) {
  authority_.set({.token = "../../etc/passwd"});
  EXPECT_FALSE(run());
  EXPECT_TRUE(log_.empty());
}

TEST_F(AcmeOrders, RateLimit) {
  authority_.set({.order_error = std::pair(
                      429, std::string(R"({"type":"urn:ietf:params:acme:error:rateLimited",
                                           "detail":"too many"})")),
                  .retry_after = std::chrono::hours(5)});
  request_.replaces = "x.y";
  const auto chain = run();
  ASSERT_FALSE(chain);
  EXPECT_EQ(chain.error().reason, "too many (rateLimited)");
  EXPECT_EQ(chain.error().retry_after, std::chrono::hours(5));
  EXPECT_EQ(authority_.count("POST /order"), 1u);
}

// RFC 9773, 5.
TEST_F(AcmeOrders, Replaces) {
  request_.replaces = "x.y";
  ASSERT_TRUE(run());
  EXPECT_EQ(authority_.received()[3].payload,
            R"({"identifiers":[{"type":"dns","value":"a.test"}],"replaces":"x.y"})");
  authority_.set({.refuses_replaces = "alreadyReplaced"});
  ASSERT_TRUE(run());
  EXPECT_EQ(authority_.count("POST /order"), 3u);
}

TEST_F(AcmeOrders, ExternalAccounts) {
  authority_.set({.external_account = true});
  const auto chain = run();
  ASSERT_FALSE(chain);
  EXPECT_EQ(chain.error().reason,
            "the authority requires an external account, which is not supported");
}

// RFC 8555, 6.1.
TEST_F(AcmeOrders, NothingWithoutTls) {
  AcmeSession session({.directory = "http://ca.test/directory", .key_pem = account_.pem()},
                      transport_);
  EXPECT_FALSE(order_certificate(session, request_, hooks_));
  EXPECT_TRUE(authority_.received().empty());
}

}  // namespace acme_order_test
}  // namespace h2server::app
