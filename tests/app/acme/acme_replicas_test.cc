#include "app/acme/acme_replicas.h"

#include <gtest/gtest.h>

#include <atomic>
#include <ctime>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "app/acme/acme.h"
#include "app/acme_authority.h"
#include "app/acme_folder.h"
#include "content/memory_store.h"
#include "net/certs/tls_request.h"

namespace h2server::app {
namespace acme_replicas_test {

using tests::AcmeAuthority;
using tests::AcmeFolder;
using tests::IssuedPair;
using tests::MemoryStore;
using Kind = AcmeChallenges::Kind;
using std::chrono::milliseconds;

constexpr const char* host = "a.test";

// A MemoryStore for several threads. It never suspends, so a call is over when it returns.
class LockedStore final : public Store {
 public:
  Task<StoreResult<OpenedObject>> get(std::string key, GetOptions options) override {
    const std::lock_guard lock(mutex);
    if (key.ends_with(".failures")) ++failures_read;
    StoreResult<OpenedObject> result = co_await inner.get(std::move(key), std::move(options));
    co_return result;
  }
  Task<StoreResult<ObjectInfo>> head(std::string key, GetOptions options) override {
    const std::lock_guard lock(mutex);
    StoreResult<ObjectInfo> result = co_await inner.head(std::move(key), std::move(options));
    co_return result;
  }
  Task<StoreResult<ListPage>> list(ListOptions options) override {
    const std::lock_guard lock(mutex);
    StoreResult<ListPage> result = co_await inner.list(std::move(options));
    co_return result;
  }
  Task<StoreResult<ObjectInfo>> put(std::string key, std::string bytes,
                                    PutOptions options) override {
    const std::lock_guard lock(mutex);
    StoreResult<ObjectInfo> result =
        co_await inner.put(std::move(key), std::move(bytes), std::move(options));
    co_return result;
  }
  Task<StoreResult<void>> remove(std::string key) override {
    const std::lock_guard lock(mutex);
    StoreResult<void> result = co_await inner.remove(std::move(key));
    co_return result;
  }

  std::atomic<unsigned> failures_read = 0;
  std::mutex mutex;
  MemoryStore inner;
};

// A server's folder, and its side of the store.
class Replica {
 public:
  explicit Replica(std::shared_ptr<Store> store, std::vector<std::string> hosts = {host})
      : site{.hosts = std::move(hosts), .files = acme_files(folder.path(), host)},
        replicas(*AcmeReplicas::open({.store = std::move(store), .prefix = "ca.test/"})) {
    EXPECT_TRUE(prepare_acme_files(site.files));
  }

  void keep(const IssuedPair& pair) { EXPECT_TRUE(keep_issued(site.files, pair.chain, pair.key)); }
  [[nodiscard]] std::string chain() const { return tests::read(site.files.certificate); }
  Result<bool, std::string> exchange() { return replicas.exchange(site, std::time(nullptr)); }

  const AcmeFolder folder;
  const AcmeSite site;
  AcmeReplicas replicas;
  AcmeChallenges challenges;
};

class AcmeReplicasTest : public testing::Test {
 protected:
  void put(const std::string& key, const std::string& bytes) {
    store_->objects[key] = {.bytes = bytes, .info = {.etag = "\"put\""}};
  }
  std::string stored(const std::string& key) { return store_->objects[key].bytes; }

  const std::shared_ptr<MemoryStore> store_ = std::make_shared<MemoryStore>();
  Replica one_{store_};
  Replica other_{store_};
};

TEST_F(AcmeReplicasTest, TheFirstAccountIsThatOfAll) {
  const std::string first = net::SigningKey::make().pem();
  EXPECT_EQ(one_.replicas.share_account_key(first), first);
  EXPECT_EQ(other_.replicas.share_account_key(net::SigningKey::make().pem()), first);
  EXPECT_EQ(stored("ca.test/account.key"), first);
}

TEST_F(AcmeReplicasTest, AnAccountKeyThatIsNone) {
  put("ca.test/account.key", "damaged");
  const auto key = one_.replicas.share_account_key(net::SigningKey::make().pem());
  ASSERT_FALSE(key);
  EXPECT_NE(key.error().find("ca.test/account.key of acme-store is not a key"), std::string::npos);
  EXPECT_EQ(stored("ca.test/account.key"), "damaged");
}

TEST_F(AcmeReplicasTest, APairIsPassedOn) {
  EXPECT_EQ(one_.exchange(), false) << "nobody has one";
  EXPECT_TRUE(store_->objects.empty()) << "a temporary certificate is not for others";
  const IssuedPair pair({host});
  one_.keep(pair);
  EXPECT_EQ(one_.exchange(), false);
  EXPECT_EQ(other_.exchange(), true);
  EXPECT_EQ(other_.chain(), pair.chain);
  EXPECT_TRUE(find_issued(other_.site.files, other_.site.hosts));
  EXPECT_EQ(other_.exchange(), false) << "once";
}

TEST_F(AcmeReplicasTest, TheNewerPairStays) {
  const IssuedPair older({host}, 90, 10);
  const IssuedPair newer({host}, 90, 5);
  one_.keep(older);
  EXPECT_EQ(one_.exchange(), false);
  other_.keep(newer);
  EXPECT_EQ(other_.exchange(), false);
  EXPECT_EQ(stored("ca.test/a.test.pem"), newer.key + newer.chain);
  EXPECT_EQ(one_.exchange(), true);
  EXPECT_EQ(one_.chain(), newer.chain);
}

// Each row: what is in the store. The server keeps its own pair, which is older.
TEST_F(AcmeReplicasTest, WhatIsOfNoUseIsLeft) {
  const IssuedPair mine({host}, 90, 10);
  const IssuedPair others({"b.test"});
  const IssuedPair newer({host});
  const IssuedPair expired({host}, -1);
  one_.keep(mine);
  const std::map<std::string, std::string> rows = {
      {"of another host", others.key + others.chain},
      {"with another key", others.key + newer.chain},
      {"without a key", newer.chain},
      {"expired", expired.key + expired.chain},
  };
  for (const auto& [what, text] : rows) {
    put("ca.test/a.test.pem", text);
    EXPECT_EQ(one_.exchange(), false) << what;
    EXPECT_EQ(one_.chain(), mine.chain) << what;
    EXPECT_EQ(stored("ca.test/a.test.pem"), text) << what;
  }
  for (const std::string text : {"", "damaged"}) {
    put("ca.test/a.test.pem", text);
    EXPECT_EQ(one_.exchange(), false) << text;
    EXPECT_EQ(stored("ca.test/a.test.pem"), mine.key + mine.chain) << "it is replaced";
  }
}

// Another server writes between the look and the write: its pair stays.
TEST_F(AcmeReplicasTest, NothingIsReplacedUnseen) {
  const IssuedPair mine({host}, 90, 5);
  const IssuedPair newest({host});
  one_.keep(mine);
  store_->fails = [&](std::string_view call) -> std::optional<StoreError> {
    if (call.starts_with("put")) put("ca.test/a.test.pem", newest.key + newest.chain);
    return std::nullopt;
  };
  EXPECT_EQ(one_.exchange(), false);
  EXPECT_EQ(stored("ca.test/a.test.pem"), newest.key + newest.chain);
}

TEST_F(AcmeReplicasTest, OneTurnAtATime) {
  EXPECT_EQ(one_.replicas.begin_turn(), true);
  EXPECT_EQ(other_.replicas.begin_turn(), false);
  one_.replicas.keep_turn();
  EXPECT_EQ(other_.replicas.begin_turn(), false);
  one_.replicas.end_turn();
  EXPECT_EQ(other_.replicas.begin_turn(), true);
}

TEST_F(AcmeReplicasTest, AllAnswerDuringATurn) {
  ASSERT_EQ(one_.replicas.begin_turn(), true);
  one_.replicas.provide(host, "token-1", "token-1.thumbprint");
  EXPECT_TRUE(other_.replicas.look(other_.challenges, Kind::http));
  EXPECT_EQ(other_.challenges.answer("token-1"), std::nullopt);
  EXPECT_TRUE(one_.replicas.publish());
  EXPECT_TRUE(other_.replicas.look(other_.challenges, Kind::http));
  EXPECT_TRUE(other_.replicas.look(other_.challenges, Kind::http));
  EXPECT_EQ(other_.challenges.answer("token-1"), "token-1.thumbprint");
  one_.replicas.end_turn();
  EXPECT_TRUE(other_.replicas.look(other_.challenges, Kind::http));
  EXPECT_EQ(other_.challenges.answer("token-1"), std::nullopt);
  EXPECT_TRUE(store_->objects.empty()) << store_->objects.begin()->first;
}

TEST_F(AcmeReplicasTest, AllAnswerHandshakes) {
  ASSERT_EQ(one_.replicas.begin_turn(), true);
  one_.replicas.provide(host, "token-1", "token-1.thumbprint");
  EXPECT_TRUE(one_.replicas.publish());
  EXPECT_TRUE(other_.replicas.look(other_.challenges, Kind::tls_alpn));
  EXPECT_NE(other_.challenges.tls()->find(host), nullptr);
  one_.replicas.end_turn();
  EXPECT_TRUE(other_.replicas.look(other_.challenges, Kind::tls_alpn));
  EXPECT_EQ(other_.challenges.tls()->find(host), nullptr);
}

TEST_F(AcmeReplicasTest, LinesThatAreNoChallenges) {
  put("ca.test/challenges",
      "\n \n  \na.test token-2\na.test token-3 other.thumbprint\na.test token-4 token-4.\n"
      "a,test token-5 token-5.thumb\na.test to/ken to/ken.thumb\na.test token-6 token-6.th umb\n"
      "a.test token-7 token-7.thumb\na.test token-8 token-8.cut");
  EXPECT_TRUE(other_.replicas.look(other_.challenges, Kind::http));
  for (const char* const token :
       {"token-2", "token-3", "token-4", "token-5", "to/ken", "token-6"}) {
    EXPECT_EQ(other_.challenges.answer(token), std::nullopt) << token;
  }
  EXPECT_EQ(other_.challenges.answer("token-7"), "token-7.thumb");
}

TEST_F(AcmeReplicasTest, FailuresAreThoseOfAll) {
  EXPECT_EQ(one_.replicas.read_backoff(one_.site), "");
  EXPECT_TRUE(one_.replicas.keep_backoff(one_.site, "")) << "there is none";
  EXPECT_TRUE(one_.replicas.keep_backoff(one_.site, "text"));
  EXPECT_EQ(stored("ca.test/a.test.failures"), "text");
  EXPECT_EQ(other_.replicas.read_backoff(other_.site), "text");
  EXPECT_TRUE(other_.replicas.keep_backoff(other_.site, ""));
  EXPECT_FALSE(store_->objects.contains("ca.test/a.test.failures"));
}

TEST_F(AcmeReplicasTest, AStoreThatFails) {
  const IssuedPair pair({host});
  other_.keep(pair);
  ASSERT_EQ(one_.replicas.begin_turn(), true);
  one_.replicas.provide(host, "token-1", "token-1.thumbprint");
  EXPECT_TRUE(one_.replicas.publish());
  EXPECT_TRUE(other_.replicas.look(other_.challenges, Kind::http));
  store_->failure = StoreError{.kind = StoreError::Kind::failed, .reason = "down"};
  const std::string down = "acme-store: ca.test/a.test.pem: down";
  EXPECT_EQ(other_.exchange(), (Result<bool, std::string>(std::unexpected(down))));
  EXPECT_FALSE(other_.replicas.look(other_.challenges, Kind::http));
  EXPECT_FALSE(other_.replicas.begin_turn());
  EXPECT_FALSE(other_.replicas.share_account_key("x"));
  EXPECT_FALSE(one_.replicas.publish());
  one_.replicas.keep_turn();
  one_.replicas.end_turn();
  EXPECT_EQ(other_.challenges.answer("token-1"), "token-1.thumbprint") << "it goes on";
  EXPECT_EQ(other_.chain(), pair.chain);
}

// --- with an authority
// ----------------------------------------------------------------------------

// A server that gets certificates, with its thread.
class OrderingServer {
 public:
  OrderingServer(std::shared_ptr<Store> store, AcmeTransport transport)
      : transport_(std::move(transport)) {
    AcmeSite site{.hosts = {host}, .files = files};
    EXPECT_TRUE(prepare_acme_files(files));
    AcmeOptions options{.directory = "https://ca.test/directory",
                        .folder = folder.path(),
                        .challenge = Kind::http,
                        .sites = {std::move(site)},
                        .sharing = {.store = std::move(store),
                                    .prefix = "ca.test/",
                                    .challenges_pause = milliseconds(20),
                                    .pairs_pause = milliseconds(20)},
                        .changed = [this] { changed.store(true); }};
    acme.emplace(std::move(options), AcmeClient{.transport = transport_, .give_up = [] {}},
                 challenges);
  }

  const AcmeFolder folder;
  const AcmeFiles files = acme_files(folder.path(), host);
  AcmeChallenges challenges;
  std::atomic<bool> changed = false;
  std::optional<Acme> acme;

 private:
  const AcmeTransport transport_;
};

void wait_for(const std::function<bool()>& condition) {
  for (int tries = 0; tries < 6000 && !condition(); ++tries) {
    std::this_thread::sleep_for(milliseconds(10));
  }
  EXPECT_TRUE(condition());
}

TEST(AcmeServers, OneCertificateForAll) {
  AcmeAuthority authority;
  const auto store = std::make_shared<LockedStore>();
  std::vector<std::unique_ptr<OrderingServer>> servers;
  unsigned asked = 0;
  // When the authority is asked to look, the answer is there for all, and each server gets it. On a
  // busy machine that may take longer than the time for which the one with the turn has waited.
  const AcmeTransport transport = [&, inner = authority.transport()](const AcmeRequest& request) {
    if (request.url.find("/challenge/") != std::string::npos) {
      ++asked;
      {
        const std::lock_guard lock(store->mutex);
        EXPECT_TRUE(store->inner.objects.contains("ca.test/challenges"));
      }
      for (const auto& server : servers) {
        wait_for([&server] { return server->challenges.answer("token-1").has_value(); });
      }
    }
    return inner(request);
  };
  for (int count = 0; count < 3; ++count) {
    servers.push_back(std::make_unique<OrderingServer>(store, transport));
  }
  for (const auto& server : servers) ASSERT_TRUE(server->acme->start());
  for (const auto& server : servers) wait_for([&] { return server->changed.load(); });
  for (const auto& server : servers) server->acme->stop();
  EXPECT_EQ(authority.count("POST /order"), 1u);
  EXPECT_EQ(authority.count("POST /account"), 1u);
  EXPECT_EQ(asked, 1u);
  const std::string chain = tests::read(servers[0]->files.certificate);
  for (const auto& server : servers) {
    EXPECT_EQ(tests::read(server->files.certificate), chain);
    EXPECT_TRUE(find_issued(server->files, std::vector<std::string>{host}));
  }
}

// The second server finds the failure of the first, and has its turn in vain.
TEST(AcmeServers, OneFailureForAll) {
  AcmeAuthority authority;
  authority.set({.order_error = std::pair(500, std::string("<html>"))});
  const auto store = std::make_shared<LockedStore>();
  const auto one_failed = [&store] {
    const std::lock_guard lock(store->mutex);
    const auto& objects = store->inner.objects;
    const auto found = objects.find("ca.test/a.test.failures");
    return found != objects.end() && found->second.bytes.contains("failures: 1\n") &&
           !objects.contains("ca.test/lease");  // its turn is over
  };
  OrderingServer one(store, authority.transport());
  ASSERT_TRUE(one.acme->start());
  wait_for(one_failed);
  one.acme->stop();
  OrderingServer other(store, authority.transport());
  const unsigned before = store->failures_read;
  ASSERT_TRUE(other.acme->start());
  wait_for([&] { return store->failures_read > before; });
  other.acme->stop();
  EXPECT_EQ(authority.count("POST /order"), 1u);
  EXPECT_TRUE(one_failed());
}

}  // namespace acme_replicas_test
}  // namespace h2server::app
