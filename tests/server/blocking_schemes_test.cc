// Schemes with a thread for each connection: the limit of connections, the clients that wait, and
// HTTP/2, for which the connection leaves the blocking engine.
#include <sys/resource.h>

#include <atomic>
#include <memory>
#include <semaphore>
#include <thread>
#include <vector>

#include "content/support.h"
#include "h2server/server.h"
#include "h2server/timing.h"
#include "server/client.h"
#include "server/http2_client.h"

namespace h2server {
namespace blocking_schemes_test {

using tests::Client;
using tests::Http2Client;

// Waits until the report contains `text`. Returns false after a timeout.
bool reports(const Server& server, std::string_view text) {
  const auto until = std::chrono::steady_clock::now() + tests::patience;
  while (server.report().find(text) == std::string::npos) {
    if (std::chrono::steady_clock::now() > until) {
      ADD_FAILURE() << "no \"" << text << "\" in:\n" << server.report();
      return false;
    }
    std::this_thread::yield();
  }
  return true;
}

class BlockingSchemes : public testing::TestWithParam<ServerScheme> {
 protected:
  static ServerOptions options(unsigned at_once) {
    ServerOptions made = tests::cleartext(GetParam(), at_once);
    made.connections_max = at_once;
    made.queue_size = 1;
    return made;
  }

  void start(const ServerOptions& with) {
    server_ = std::make_unique<Server>(with);
    server_->add_handler(GET, "/", [](Request&) { return Response(200, "at once"); });
    server_->add_handler(GET, "/later", [](Request&) -> Task<Response> {
      const Result<void> slept = co_await sleep_for(std::chrono::milliseconds(5));
      co_return Response(200, slept ? "later" : "cancelled");
    });
    server_->add_handler(GET, "/pass", [this](Request&) -> Task<Response> {
      entered_.set();
      while (!open_.load()) co_await sleep_for(std::chrono::milliseconds(1));
      co_return Response(200, "passed");
    });
    server_->add_handler(GET, "/long", [this](Request&) -> Task<Response> {
      entered_.set();
      const Result<void> slept = co_await sleep_for(std::chrono::hours(1));
      if (!slept) cancelled_.fetch_add(1);
      co_return Response(200);
    });
    ASSERT_TRUE(server_->start());
    port_ = tests::port_of(*server_);
  }

  tests::Signal entered_;
  std::atomic<bool> open_{false};
  std::atomic<int> cancelled_{0};
  std::unique_ptr<Server> server_;
  std::uint16_t port_ = 0;
};

INSTANTIATE_TEST_SUITE_P(Schemes, BlockingSchemes,
                         testing::Values(ServerScheme::thread_pool, ServerScheme::buffered_pool,
                                         ServerScheme::thread_per_connection),
                         [](const auto& row) { return tests::scheme_name(row.param); });

TEST_P(BlockingSchemes, WhoComesLaterWaitsUntilAnotherEnds) {
  start(options(2));
  auto first = std::make_unique<Client>(port_);
  EXPECT_EQ(first->get("/").status, 200);
  Client second(port_);
  EXPECT_EQ(second.get("/").status, 200);
  std::vector<std::unique_ptr<Client>> later;
  for (int i = 0; i < 3; ++i) {
    later.push_back(std::make_unique<Client>(port_));
    later.back()->send("GET / HTTP/1.1\r\nHost: x\r\n\r\n");
  }
  EXPECT_EQ(second.get("/later").body, "later") << "those who are served are not disturbed";
  first.reset();
  for (std::unique_ptr<Client>& client : later) {
    EXPECT_EQ(client->receive().body, "at once");
    client.reset();  // makes room for the next
  }
}

TEST_P(BlockingSchemes, SpeakHttp2) {
  start(options(4));
  for (int round = 0; round < 3; ++round) {  // threads return to their blocking engine
    Http2Client http2(port_);
    EXPECT_EQ(http2.get("/"), "at once");
    http2.ask({"/later", "/", "/later"});
    EXPECT_EQ(http2.receive(), "at oncelaterlater") << "streams don't wait for each other";
    Client http1(port_);
    EXPECT_EQ(http1.get("/later").body, "later");
  }
}

TEST_P(BlockingSchemes, DrainHttp2) {
  start(options(2));
  Http2Client idle(port_);
  EXPECT_EQ(idle.get("/"), "at once");
  Http2Client busy(port_);
  busy.ask({"/pass"});
  ASSERT_TRUE(entered_.wait());
  server_->stop();
  open_ = true;
  EXPECT_EQ(busy.receive(), "passed");
  EXPECT_TRUE(busy.is_sent_away());
  EXPECT_TRUE(idle.is_sent_away());
  server_->wait();
}

TEST_P(BlockingSchemes, TheSecondStopCancelsHttp2) {
  start(options(1));
  Http2Client client(port_);
  client.ask({"/long"});
  ASSERT_TRUE(entered_.wait());
  server_->stop();
  server_->stop();
  server_->wait();
  EXPECT_EQ(cancelled_, 1);
}

TEST_P(BlockingSchemes, TheDrainOfHttp2HasALimit) {
  ServerOptions hasty = options(1);
  hasty.drain_limit = std::chrono::milliseconds(1);
  start(hasty);
  Http2Client client(port_);
  client.ask({"/long"});
  ASSERT_TRUE(entered_.wait());
  server_->stop();
  server_->wait();
  EXPECT_EQ(cancelled_, 1);
}

TEST_P(BlockingSchemes, WhoWaitsHoldsUpNobodyWhoStops) {
  start(options(1));
  Client served(port_);
  EXPECT_EQ(served.get("/").status, 200);
  std::vector<Client> waiting;
  for (int i = 0; i < 3; ++i) waiting.emplace_back(port_);
  server_->stop();
  server_->wait();
  EXPECT_TRUE(served.ends());
}

TEST_P(BlockingSchemes, LeaveNoDescriptor) {
  const rlim_t before = tests::descriptors_in_use();
  {
    start(options(4));
    for (int i = 0; i < 20; ++i) {
      Http2Client http2(port_);
      EXPECT_EQ(http2.get("/"), "at once");
      Client http1(port_);
      EXPECT_EQ(http1.get("/").status, 200);
    }
    server_.reset();
  }
  EXPECT_EQ(tests::descriptors_in_use(), before);
}

TEST_P(BlockingSchemes, CloseAfterSoManyRequests) {
  ServerOptions few = options(2);
  few.limits.requests_per_connection = 1;
  start(few);
  for (int i = 0; i < 5; ++i) {
    Client http1(port_);
    EXPECT_TRUE(http1.get("/later").says("Connection: close"));
    EXPECT_TRUE(http1.ends());
    Http2Client http2(port_);
    EXPECT_EQ(http2.get("/later"), "later");
  }
}

TEST_P(BlockingSchemes, ServeOnInAShortageOfDescriptors) {
  start(options(2));
  Client first(port_);
  EXPECT_EQ(first.get("/").status, 200);
  Http2Client second(port_);
  EXPECT_EQ(second.get("/"), "at once");
  const tests::LoweredLimit limit(RLIMIT_NOFILE, tests::descriptors_in_use());
  EXPECT_EQ(first.get("/later").body, "later");
  EXPECT_EQ(second.get("/later"), "later");
}

TEST(BufferedPool, RefusesWhenToldTo) {
  ServerOptions options = tests::cleartext(ServerScheme::buffered_pool, 1);
  options.queue_size = 2;
  options.refuse_when_full = true;
  Server server(options);
  server.add_handler(GET, "/", [](Request&) { return Response(200, "served"); });
  ASSERT_TRUE(server.start());
  const std::uint16_t port = tests::port_of(server);
  auto served = std::make_unique<Client>(port);
  EXPECT_EQ(served->get("/").status, 200);
  Client first(port);
  Client second(port);
  ASSERT_TRUE(reports(server, "queue: 2 waiting, 0 refused"));
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(Client(port).ends());
  EXPECT_TRUE(reports(server, "queue: 2 waiting, 3 refused"));
  served.reset();
  EXPECT_EQ(first.get("/").body, "served");
}

TEST(ThreadPerConnection, WaitsForAPlaceManyTimes) {
  ServerOptions options = tests::cleartext(ServerScheme::thread_per_connection);
  options.connections_max = 1;
  Server server(options);
  server.add_handler(GET, "/", [](Request&) { return Response(200, "served"); });
  ASSERT_TRUE(server.start());
  for (int i = 0; i < 200; ++i) {
    Client client(tests::port_of(server));
    EXPECT_EQ(client.get("/").body, "served");
  }
  EXPECT_TRUE(reports(server, "threads: 0 connections, 200 accepted, 0 streams"));
}

TEST(Report, EachWorkerHasALine) {
  Server acceptor(tests::cleartext(ServerScheme::acceptor, 2));
  EXPECT_EQ(acceptor.report(), "");
  ASSERT_TRUE(acceptor.start());
  {
    Client client(tests::port_of(acceptor));
    EXPECT_EQ(client.get("/").status, 404);
    EXPECT_TRUE(reports(acceptor, ": 1 connections, 1 accepted, 0 streams, 0 waiting\n"));
    EXPECT_TRUE(reports(acceptor, "balancer: 1 table hits, 0 rewrites, 0 times full\n"));
  }
  Server pool(tests::cleartext(ServerScheme::thread_pool, 3));
  ASSERT_TRUE(pool.start());
  for (const char* const worker : {"worker 1: 0", "worker 2: 0", "worker 3: 0"}) {
    EXPECT_NE(pool.report().find(worker), std::string::npos);
  }
  pool.stop();
  pool.wait();
  EXPECT_EQ(pool.report(), "");
}

}  // namespace blocking_schemes_test
}  // namespace h2server
