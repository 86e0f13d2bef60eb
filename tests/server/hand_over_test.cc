// Connections passed from the acceptor to its workers on each engine: through their inboxes, or
// from ring to ring.
#include <gtest/gtest.h>

#include <cstdio>
#include <deque>
#include <string>

#include "io/support.h"
#include "server/client.h"

namespace h2server {
namespace hand_over_test {

using tests::Client;

class HandOver : public testing::TestWithParam<io::EngineKind> {
 protected:
  HandOver() : server_(options()) {
    server_.add_handler(GET, "/", [](Request&) { return Response(200, "hello"); });
    const Result<void, std::string> started = server_.start();
    EXPECT_TRUE(started) << started.error();
  }

  static ServerOptions options() {
    ServerOptions options = tests::cleartext(ServerScheme::acceptor, 3);
    options.io = GetParam() == io::EngineKind::epoll ? IoEngine::epoll : IoEngine::io_uring;
    return options;
  }

  Server server_;
};

TEST_P(HandOver, EveryConnectionReachesAWorker) {
  constexpr int connections = 600;
  std::deque<Client> clients;
  for (int i = 0; i < connections; ++i) clients.emplace_back(tests::port_of(server_));
  for (Client& client : clients) EXPECT_EQ(client.get("/").body, "hello");
  EXPECT_EQ(server_.engine().name, io::name_of(GetParam()));
  const std::string report = server_.report();
  // The table's entries move to even out the loads.
  const std::size_t line = report.find("balancer: ");
  ASSERT_NE(line, std::string::npos) << report;
  int hits = 0;
  int rewrites = 0;
  int full = 0;
  ASSERT_EQ(
      std::sscanf(report.c_str() + line, "balancer: %d table hits, %d rewrites, %d times full",
                  &hits, &rewrites, &full),
      3);
  EXPECT_EQ(hits + rewrites, connections) << report;
  EXPECT_EQ(full, 0) << report;
  EXPECT_EQ(report.find("1 waiting"), std::string::npos) << report;
}

// Connections accepted before the stop are served. Others are refused by the closed listener. None
// may hang.
TEST_P(HandOver, StoppingStrandsNobody) {
  std::deque<Client> clients;
  for (int i = 0; i < 200; ++i) {
    clients.emplace_back(tests::port_of(server_));
    if (i == 100) server_.stop();
  }
  for (Client& client : clients) {
    const tests::Reply reply = client.get("/");
    EXPECT_TRUE(reply.status == 200 || reply.status == 0);
  }
  clients.clear();
  server_.wait();
}

INSTANTIATE_TEST_SUITE_P(Engines, HandOver, testing::ValuesIn(io::engines_here()), io::engine_name);

}  // namespace hand_over_test
}  // namespace h2server
