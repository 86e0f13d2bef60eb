#include "app/acme/acme.h"

#include <gtest/gtest.h>

#include <atomic>
#include <ctime>
#include <string>
#include <utility>
#include <vector>

#include "app/acme/acme_backoff.h"
#include "app/acme_authority.h"
#include "app/acme_folder.h"
#include "app/events.h"
#include "base/no_threads.h"

namespace h2server::app {
namespace acme_test {

using tests::AcmeAuthority;
using tests::AcmeFolder;
using tests::Events;
using tests::IssuedPair;
using Hosts = std::vector<std::string>;

class AcmeThread : public testing::Test {
 protected:
  AcmeOptions options(const Hosts& hosts = {"a.test"}) {
    AcmeSite site{.hosts = hosts, .files = acme_files(folder_.path(), hosts.front())};
    EXPECT_TRUE(prepare_acme_files(site.files));
    return {.directory = "https://ca.test/directory",
            .folder = folder_.path(),
            .challenge = AcmeChallenges::Kind::http,
            .sites = {std::move(site)},
            .changed = [this] { changed_.add(); }};
  }
  // Counts the requests of a kind.
  AcmeClient client(std::string counted = {}) {
    return {.transport = [this, counted = std::move(counted), inner = authority_.transport()](
                             const AcmeRequest& request) -> Result<AcmeResponse, std::string> {
              auto response = inner(request);
              if (request.url == counted) seen_.add();
              return response;
            },
            .give_up = [this] { given_up_ = true; }};
  }
  // Keeps a certificate that the authority has issued before.
  std::string keep(long valid_days = 90) {
    const IssuedPair pair({"a.test"}, valid_days);
    EXPECT_TRUE(keep_issued(files_, pair.chain, pair.key));
    return pair.chain;
  }

  AcmeAuthority authority_;
  AcmeChallenges challenges_;
  const AcmeFolder folder_;
  const AcmeFiles files_ = acme_files(folder_.path(), "a.test");
  Events changed_;
  Events seen_;
  std::atomic<bool> given_up_ = false;
};

constexpr const char* past = R"({"start":"2000-01-01T00:00:00Z","end":"2000-01-02T00:00:00Z"})";
constexpr const char* future = R"({"start":"2999-01-01T00:00:00Z","end":"2999-01-02T00:00:00Z"})";

TEST_F(AcmeThread, GetsTheFirstCertificate) {
  Acme acme(options({"a.test", "www.a.test"}), client(), challenges_);
  ASSERT_TRUE(acme.start());
  changed_.wait_for(1);
  acme.stop();
  EXPECT_TRUE(find_issued(files_, Hosts{"a.test", "www.a.test"}));
  EXPECT_EQ(challenges_.answer("token-1"), std::nullopt) << "no challenge is left";
}

TEST_F(AcmeThread, KeepsOneThatIsGood) {
  authority_.set({.window = future});
  const std::string before = keep();
  Acme acme(options(), client("https://ca.test/nonce"), challenges_);
  ASSERT_TRUE(acme.start());
  acme.stop();
  EXPECT_EQ(tests::read(files_.certificate), before);
  EXPECT_EQ(authority_.count("POST /order"), 0u);
}

TEST_F(AcmeThread, RenewsWhenTheAuthorityAsks) {
  authority_.set({.window = past});
  const std::string before = keep();
  Acme acme(options(), client(), challenges_);
  ASSERT_TRUE(acme.start());
  changed_.wait_for(1);
  acme.stop();
  EXPECT_NE(tests::read(files_.certificate), before);
  EXPECT_TRUE(find_issued(files_, Hosts{"a.test"}));
  const auto received = authority_.received();
  const auto order = std::ranges::find(received, "POST /order", &AcmeAuthority::Received::what);
  ASSERT_NE(order, received.end());
  EXPECT_NE(order->payload.find("\"replaces\""), std::string::npos) << order->payload;
}

// It would order one after the other.
TEST_F(AcmeThread, DoesNotRenewTwiceForTheSameHint) {
  authority_.set({.window = past});
  keep();
  const std::string hint = "https://ca.test/renewal/";
  Events hints;
  AcmeClient counting = client();
  counting.transport = [&hints, &hint, inner = counting.transport](const AcmeRequest& request) {
    auto response = inner(request);
    if (request.url.starts_with(hint)) hints.add();
    return response;
  };
  Acme acme(options(), counting, challenges_);
  ASSERT_TRUE(acme.start());
  hints.wait_for(2);  // of the old and of the new one
  acme.stop();
  EXPECT_EQ(authority_.count("POST /order"), 1u);
}

TEST_F(AcmeThread, RenewsAfterTwoThirdsWithoutHints) {
  keep();
  const std::int64_t now_s = std::time(nullptr) + 61LL * 86400;
  AcmeOptions late = options();
  late.now_s = [now_s] { return now_s; };
  Acme acme(late, client(), challenges_);
  ASSERT_TRUE(acme.start());
  changed_.wait_for(1);
}

// A hint must not let a certificate expire.
TEST_F(AcmeThread, RenewsBeforeTheEndInAnyCase) {
  authority_.set({.window = future});
  keep();
  const std::int64_t now_s = std::time(nullptr) + 82LL * 86400;
  AcmeOptions late = options();
  late.now_s = [now_s] { return now_s; };
  Acme acme(late, client(), challenges_);
  ASSERT_TRUE(acme.start());
  changed_.wait_for(1);
}

TEST_F(AcmeThread, HostThatWasAddedNeedsAnother) {
  authority_.set({.window = future});
  keep();
  Acme acme(options({"a.test", "new.a.test"}), client(), challenges_);
  ASSERT_TRUE(acme.start());
  changed_.wait_for(1);
  acme.stop();
  EXPECT_TRUE(find_issued(files_, Hosts{"a.test", "new.a.test"}));
}

// Each look at the clock finds two days more, so that no pause is waited for.
TEST_F(AcmeThread, TriesAgainAndLosesNothing) {
  authority_.set({.order_error = std::pair(500, std::string("<html>")), .window = past});
  const std::string before = keep(3650);
  std::atomic<std::int64_t> clock = std::time(nullptr);
  AcmeOptions jumping = options();
  jumping.now_s = [&clock] { return clock += 200'000; };
  Acme acme(jumping, client("https://ca.test/order"), challenges_);
  ASSERT_TRUE(acme.start());
  seen_.wait_for(4);
  EXPECT_EQ(tests::read(files_.certificate), before);
  EXPECT_EQ(changed_.count(), 0u);
  authority_.set({.window = past, .valid_days = 36500});
  changed_.wait_for(1);
  acme.stop();
  EXPECT_NE(tests::read(files_.certificate), before);
}

TEST_F(AcmeThread, UselessCertificateIsNotKept) {
  authority_.set({.window = past, .other_host = "b.test"});
  const std::string before = keep();
  Acme acme(options(), client("https://ca.test/certificate"), challenges_);
  ASSERT_TRUE(acme.start());
  seen_.wait_for(1);
  acme.stop();
  EXPECT_EQ(tests::read(files_.certificate), before);
  EXPECT_EQ(changed_.count(), 0u);
}

// Each row: what a hostile authority sends as the chain, behind the certificate or instead of it.
TEST_F(AcmeThread, HostileChainsAreNotKept) {
  const IssuedPair other({"a.test"});  // for another key
  using Behaviour = AcmeAuthority::Behaviour;
  const Behaviour rows[] = {
      {.window = past, .chain = ""},
      {.window = past, .chain = "-----BEGIN CERTIFICATE-----\n-----END CERTIFICATE-----\n"},
      {.window = past, .chain = other.chain},
      {.window = past, .chain = other.key},
      {.window = past,
       .chain_end = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"},
  };
  const std::string before = keep();
  unsigned sent = 0;
  for (const Behaviour& row : rows) {
    ASSERT_TRUE(keep_backoff(files_, "")) << "or the next one waits";
    authority_.set(row);
    Acme acme(options(), client("https://ca.test/certificate"), challenges_);
    ASSERT_TRUE(acme.start());
    seen_.wait_for(++sent);
    acme.stop();
    EXPECT_EQ(tests::read(files_.certificate), before);
    EXPECT_TRUE(find_issued(files_, Hosts{"a.test"}));
  }
  EXPECT_EQ(changed_.count(), 0u);
}

TEST_F(AcmeThread, NoThread) {
  Acme acme(options(), client(), challenges_);
  const auto started = [&acme] {
    const tests::NoThreads none;
    return acme.start();
  }();
  ASSERT_FALSE(started);
  EXPECT_TRUE(
      started.error().starts_with("acme: no certificates are ordered: can't start a thread: "))
      << started.error();
  acme.stop();
}

TEST_F(AcmeThread, OneSiteDoesNotHoldUpTheOthers) {
  AcmeOptions two = options();
  two.sites.push_back({.hosts = {"b.test"}, .files = acme_files(folder_.path(), "b.test")});
  ASSERT_TRUE(prepare_acme_files(two.sites.back().files));
  authority_.set({.challenge_fails = true});
  Acme acme(two, client("https://ca.test/challenge/b.test"), challenges_);
  ASSERT_TRUE(acme.start());
  seen_.wait_for(1);
}

TEST_F(AcmeThread, StopEndsAnOrder) {
  authority_.set({.pending_polls = 1'000'000, .retry_after = std::chrono::seconds(200)});
  Acme acme(options(), client("https://ca.test/challenge/a.test"), challenges_);
  ASSERT_TRUE(acme.start());
  seen_.wait_for(1);
  EXPECT_NE(challenges_.answer("token-1"), std::nullopt);
  acme.stop();  // the order waits 200 s
  EXPECT_TRUE(given_up_);
  EXPECT_EQ(challenges_.answer("token-1"), std::nullopt);
  EXPECT_EQ(challenges_.answer(""), std::nullopt);
  acme.stop();
}

TEST_F(AcmeThread, NothingToDo) {
  AcmeOptions none = options();
  none.sites.clear();
  Acme acme(none, client(), challenges_);
  EXPECT_TRUE(acme.start());
  acme.stop();
  EXPECT_TRUE(authority_.received().empty());
}

TEST_F(AcmeThread, NoPlaceForTheKey) {
  AcmeOptions nowhere = options();
  nowhere.folder = "/proc/self/x";
  Acme acme(nowhere, client(), challenges_);
  const auto started = acme.start();
  ASSERT_FALSE(started);
  EXPECT_NE(started.error().find("/proc/self/x"), std::string::npos) << started.error();
}

TEST(AcmeChallenges, TlsAlpn) {
  AcmeChallenges challenges;
  challenges.provide(AcmeChallenges::Kind::tls_alpn, "a.test", "token", "token.thumbprint");
  EXPECT_NE(challenges.tls()->find("a.test"), nullptr);
  EXPECT_EQ(challenges.tls()->find("b.test"), nullptr);
  EXPECT_EQ(challenges.answer("token"), std::nullopt);
  challenges.withdraw(AcmeChallenges::Kind::tls_alpn, "a.test", "token");
  EXPECT_EQ(challenges.tls()->find("a.test"), nullptr);
}

TEST(AcmeChallenges, Http) {
  AcmeChallenges challenges;
  challenges.provide(AcmeChallenges::Kind::http, "a.test", "token", "token.thumbprint");
  EXPECT_EQ(challenges.answer("token"), "token.thumbprint");
  EXPECT_EQ(challenges.answer("other"), std::nullopt);
  EXPECT_EQ(challenges.tls()->find("a.test"), nullptr);
  challenges.withdraw(AcmeChallenges::Kind::http, "a.test", "token");
  EXPECT_EQ(challenges.answer("token"), std::nullopt);
}

}  // namespace acme_test
}  // namespace h2server::app
