// What a server does while clients hold much of its memory.
#include "server/memory_guard.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/memory/memory_budget.h"
#include "h2server/server.h"
#include "h2server/timing.h"
#include "net/tls_handshake.h"
#include "server/client.h"
#include "server/http2_client.h"

namespace h2server {
namespace memory_guard_test {

using namespace std::chrono_literals;
using base::MemoryBudget;
using tests::Client;
using tests::Http2Client;

constexpr std::uint64_t mib = 1024 * 1024;
constexpr unsigned attacker = 2;  // 127.0.0.2

MemoryBudget& budget() { return MemoryBudget::of_process(); }

// A body that begins when it may.
class LateBody final : public BodySource {
 public:
  LateBody(const std::atomic<bool>& may_begin, tests::Signal& entered)
      : may_begin_(may_begin), entered_(entered) {}
  Task<Result<std::string_view>> read() override {
    entered_.set();
    while (!may_begin_) {
      const Result<void> slept = co_await sleep_for(1ms);
      if (!slept) co_return std::unexpected(slept.error());
    }
    co_return std::exchange(left_, {});
  }
  [[nodiscard]] bool reads_request() const noexcept override { return false; }

 private:
  const std::atomic<bool>& may_begin_;
  tests::Signal& entered_;
  std::string_view left_ = "late";
};

class MemoryGuard : public testing::TestWithParam<IoEngine> {
 protected:
  MemoryGuard() : server_(options()) {
    server_.get("/plain", [](Request&) { return Response::text("plain"); });
    // More than the sockets' buffers take.
    server_.get("/large", [](Request&) { return Response::text(std::string(12 * mib, 'x')); });
    server_.get("/half", [](Request&) { return Response::text(std::string(6 * mib, 'x')); });
    server_.get("/late", [this](Request&) {
      return Response(std::make_unique<LateBody>(may_begin_, entered_), "text/plain", 4);
    });
    server_.get("/task", [](Request&) -> Task<Response> { co_return Response::text("task"); });
    server_.get("/either",
                Handler([](Request&) { return std::optional(Response::text("at once")); },
                        [](Request&) -> Task<Response> { co_return Response(500); }));
    server_.get("/wait", [this](Request& request) -> Task<Response> {
      entered_.set();
      static_cast<void>(co_await sleep_for(1h));
      if (request.stop_token().stop_requested()) stopped_.set();
      co_return Response(200);
    });
  }
  ~MemoryGuard() override {
    server_.stop();
    budget().set_limit(MemoryBudget::no_limit);
  }

  static ServerOptions options() {
    ServerOptions options = tests::cleartext();
    options.io = GetParam();
    options.memory_max = 16 * mib;
    return options;
  }
  void SetUp() override {
    const auto started = server_.start();
    ASSERT_TRUE(started) << started.error();
    port_ = tests::port_of(server_);
  }
  template <class Condition>
  static void wait_until(Condition condition) {
    const auto until = std::chrono::steady_clock::now() + tests::patience;
    while (!condition() && std::chrono::steady_clock::now() < until) {
      std::this_thread::sleep_for(5ms);
    }
    EXPECT_TRUE(condition());
  }
  // Waits until what earlier tests held is free, and until a cut has had its effect.
  static void wait_until_free() {
    wait_until([] { return !budget().tight(); });
  }

  tests::Signal entered_;
  tests::Signal stopped_;
  std::atomic<bool> may_begin_ = false;
  Server server_;
  std::uint16_t port_ = 0;
};

TEST_P(MemoryGuard, RefusesWhatMayWaitWhileMemoryIsTight) {
  wait_until_free();
  base::MemoryCharge ballast(base::MemoryOwner::uploads);  // of no connection
  ballast.set(9 * mib);
  const std::uint64_t refused = budget().refused();
  const tests::Reply reply = Client(port_).get("/task");
  EXPECT_EQ(reply.status, 503);
  EXPECT_TRUE(reply.says("Retry-After: 1")) << reply.head;
  EXPECT_EQ(budget().refused(), refused + 1);
  EXPECT_EQ(Client(port_).get("/plain").body, "plain");
  EXPECT_EQ(Client(port_).get("/either").body, "at once");
  EXPECT_EQ(Http2Client(port_).get("/plain"), "plain");
  ballast.set(0);
  EXPECT_EQ(Client(port_).get("/task").body, "task");
}

TEST_P(MemoryGuard, RefusesAllThatMakesResponsesOnceThereIsNoneLeft) {
  wait_until_free();
  base::MemoryCharge ballast(base::MemoryOwner::uploads);
  ballast.set(17 * mib);
  EXPECT_EQ(Client(port_).get("/plain").status, 503);
  EXPECT_EQ(Client(port_).get("/either").body, "at once") << "who holds little is not cut off";
  ballast.set(0);
  EXPECT_EQ(Client(port_).get("/plain").body, "plain");
}

TEST_P(MemoryGuard, ServesOperatorsWhileMemoryIsTight) {
  wait_until_free();
  ServerOptions options = tests::cleartext();
  options.io = GetParam();
  options.serve_when_tight = true;
  Server admin(options);
  admin.get("/", [](Request&) -> Task<Response> { co_return Response::text("status"); });
  ASSERT_TRUE(admin.start());
  EXPECT_EQ(budget().limit(), 16 * mib) << "one without a number leaves it as it is";
  base::MemoryCharge ballast(base::MemoryOwner::uploads);
  ballast.set(9 * mib);
  EXPECT_EQ(Client(tests::port_of(admin)).get("/").body, "status");
  ballast.set(0);
  admin.stop();
}

// Two responses that are not read are more than the limit.
TEST_P(MemoryGuard, CutsOffTheClientThatHoldsMost) {
  wait_until_free();
  const std::uint64_t cut_off = budget().cut_off();
  Client innocent(port_);
  EXPECT_EQ(innocent.get("/plain").body, "plain");
  std::vector<std::unique_ptr<Client>> greedy;
  for (int i = 0; i < 4; ++i) {
    greedy.push_back(std::make_unique<Client>(port_, Client::Family::ipv4, attacker));
    greedy.back()->send("GET /large HTTP/1.1\r\nHost: test\r\n\r\n");
  }
  wait_until([cut_off] { return budget().cut_off() > cut_off; });
  int ended = 0;
  // A request that is read only after the cut makes memory tight again.
  for (const auto& client : greedy) {
    if (client->receive().body.size() < 12 * mib) ++ended;
  }
  EXPECT_GE(ended, 1);
  wait_until_free();
  EXPECT_EQ(innocent.get("/plain").body, "plain") << "on the same connection";
}

TEST_P(MemoryGuard, CutsOffConnectionsOfHttp2) {
  wait_until_free();
  const std::uint64_t cut_off = budget().cut_off();
  Http2Client greedy(port_, attacker);
  greedy.ask({"/large", "/large"});
  wait_until([cut_off] { return budget().cut_off() > cut_off; });
  wait_until_free();
  EXPECT_FALSE(greedy.is_sent_away());
  EXPECT_EQ(Http2Client(port_).get("/plain"), "plain");
}

TEST_P(MemoryGuard, CountsHeadsThatHaveNotEnded) {
  wait_until_free();
  const auto counted = [] { return budget().held(base::MemoryOwner::requests); };
  const std::uint64_t before = counted();
  {
    std::vector<Client> slow;
    for (int i = 0; i < 20; ++i) {
      slow.emplace_back(port_).send("GET /plain HTTP/1.1\r\nX: " + std::string(20'000, 'x'));
    }
    wait_until([&] { return counted() >= before + 20 * 20'000; });
  }
  wait_until([&] { return counted() < before + 20 * 20'000; });
}

TEST_P(MemoryGuard, CountsNoHeadWhoseResponseOnlyWaits) {
  wait_until_free();
  const auto counted = [](base::MemoryOwner owner) { return budget().held(owner); };
  const std::uint64_t before = counted(base::MemoryOwner::requests);
  Client slow(port_);
  slow.send("GET /half HTTP/1.1\r\nHost: test\r\nX: " + std::string(20'000, 'x') + "\r\n\r\n");
  wait_until([&] { return counted(base::MemoryOwner::bodies) >= 5 * mib; });
  wait_until([&] { return counted(base::MemoryOwner::requests) < before + 10'000; });
  EXPECT_EQ(slow.receive().body.size(), 6 * mib);
  EXPECT_EQ(slow.get("/plain").body, "plain") << "the next request of the connection";
}

TEST_P(MemoryGuard, CountsNoHeadWhoseBodyHasNotBegun) {
  wait_until_free();
  const std::uint64_t before = budget().held(base::MemoryOwner::requests);
  Client client(port_);
  client.send("GET /late HTTP/1.1\r\nHost: test\r\nX: " + std::string(20'000, 'x') + "\r\n\r\n");
  ASSERT_TRUE(entered_.wait());
  wait_until([&] { return budget().held(base::MemoryOwner::requests) < before + 10'000; });
  may_begin_ = true;
  EXPECT_EQ(client.receive().body, "late");
  EXPECT_EQ(client.get("/plain").body, "plain") << "the next request of the connection";
}

// The memory may be passed by another thread, while the worker sleeps.
TEST_P(MemoryGuard, StopsHandlersOfWhoIsCutOff) {
  wait_until_free();
  Client waiting(port_);
  waiting.send("GET /wait HTTP/1.1\r\nHost: test\r\nX: " + std::string(20'000, 'x') + "\r\n\r\n");
  ASSERT_TRUE(entered_.wait());
  base::MemoryCharge ballast(base::MemoryOwner::uploads);
  ballast.set(17 * mib);
  EXPECT_TRUE(stopped_.wait());
  EXPECT_TRUE(waiting.ends());
  ballast.set(0);
}

INSTANTIATE_TEST_SUITE_P(Engines, MemoryGuard,
                         testing::Values(IoEngine::epoll, IoEngine::automatic),
                         [](const auto& engine) {
                           return engine.param == IoEngine::epoll ? "epoll" : "automatic";
                         });

// Returns the first flight of a client (RFC 8446, 4.1.2).
std::string client_hello() {
  const std::unique_ptr<SSL_CTX, net::FreeBy<SSL_CTX_free>> settings(
      SSL_CTX_new(TLS_client_method()));
  const std::unique_ptr<SSL, net::FreeBy<SSL_free>> client(SSL_new(settings.get()));
  BIO* const sent = BIO_new(BIO_s_mem());
  SSL_set_bio(client.get(), BIO_new(BIO_s_mem()), sent);
  EXPECT_EQ(SSL_connect(client.get()), -1);
  ERR_clear_error();
  const char* bytes = nullptr;
  const long size = BIO_get_mem_data(sent, &bytes);
  return {bytes, static_cast<std::size_t>(size)};
}

ServerOptions with_tls(const net::Files& files, ServerOptions options) {
  const CertificateFiles pair =
      files.write_pair("pair", net::make_identity("server", net::ec_key(), nullptr));
  options.cleartext = false;
  options.limits.handshake_ms_max = 600'000;
  options.certificate_file = pair.certificate_file;
  options.key_file = pair.key_file;
  return options;
}

// Handshakes that wait for the client's second flight.
TEST_P(MemoryGuard, CutsOffHandshakes) {
  wait_until_free();
  const net::Files files;
  Server server(with_tls(files, options()));
  const auto started = server.start();
  ASSERT_TRUE(started) << started.error();
  const auto counted = [](base::MemoryOwner owner) { return budget().held(owner); };
  const std::uint64_t cut_off = budget().cut_off();
  const std::uint64_t before = counted(base::MemoryOwner::requests);
  const std::uint64_t leased = counted(base::MemoryOwner::receiving);
  Client innocent(tests::port_of(server));
  innocent.send(client_hello());
  ASSERT_EQ(innocent.take(1), "\x16");
  const std::uint64_t one = counted(base::MemoryOwner::requests) - before;
  EXPECT_GT(one, 0U);
  std::vector<Client> greedy;
  for (int i = 0; i < 100; ++i) {
    greedy.emplace_back(tests::port_of(server), Client::Family::ipv4, attacker)
        .send(client_hello());
    ASSERT_EQ(greedy.back().take(1), "\x16");  // the server's first flight
  }
  EXPECT_GE(counted(base::MemoryOwner::requests), before + 101 * one);
  EXPECT_LT(counted(base::MemoryOwner::receiving), leased + mib) << "none keeps its buffer";
  base::MemoryCharge ballast(base::MemoryOwner::uploads);
  ballast.set(4 * mib);  // memory is tight, not more, and they hold above a quarter
  wait_until([cut_off] { return budget().cut_off() > cut_off; });
  ballast.set(17 * mib);
  for (Client& client : greedy) EXPECT_LT(client.take(mib).size(), mib) << "until it ends";
  wait_until([&] { return counted(base::MemoryOwner::requests) <= before + one; });
  std::this_thread::sleep_for(300ms);  // in which it would be the next
  EXPECT_EQ(counted(base::MemoryOwner::requests), before + one) << "one is nobody's fault";
  ballast.set(0);
  server.stop();
}

TEST(MemoryMax, ThreadsThatBlockBeginNoHandshakeWithoutMemory) {
  const net::Files files;
  ServerOptions options = tests::cleartext(ServerScheme::thread_per_connection);
  options.memory_max = 16 * mib;
  Server server(with_tls(files, options));
  ASSERT_TRUE(server.start());
  base::MemoryCharge ballast(base::MemoryOwner::uploads);
  ballast.set(17 * mib);
  Client refused(tests::port_of(server));
  refused.send(client_hello());
  EXPECT_EQ(refused.take(1), "");
  ballast.set(0);
  Client other(tests::port_of(server));
  other.send(client_hello());
  EXPECT_EQ(other.take(1), "\x16");
  server.stop();
  budget().set_limit(MemoryBudget::no_limit);
}

TEST(MemoryMax, TooLittleIsRefused) {
  ServerOptions options = tests::cleartext();
  options.memory_max = mib;
  Server server(options);
  const auto started = server.start();
  ASSERT_FALSE(started);
  EXPECT_EQ(started.error(), "memory_max is 1048576, at least 16777216");
}

}  // namespace memory_guard_test
}  // namespace h2server
