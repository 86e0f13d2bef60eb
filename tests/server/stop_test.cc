// Stopping: the first stop drains, the second cancels.
#include <pthread.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <thread>
#include <vector>

#include "h2server/server.h"
#include "h2server/timing.h"
#include "server/client.h"

namespace h2server {
namespace stop_test {

using tests::Client;
using tests::Reply;

// State of a handler that signals its start and waits until it may continue or is cancelled.
struct Gate {
  tests::Signal entered;
  std::atomic<bool> open{false};
  std::atomic<int> cancelled{0};
};

Task<Response> pass(Gate& gate) {
  gate.entered.set();
  while (!gate.open.load()) {
    const Result<void> slept = co_await sleep_for(std::chrono::milliseconds(1));
    if (slept) continue;
    gate.cancelled.fetch_add(1);
    co_return Response(503);
  }
  // A blocking thread checks for a drain only when it waits, so it waits once more.
  const Result<void> slept = co_await sleep_for(std::chrono::milliseconds(1));
  if (!slept) gate.cancelled.fetch_add(1);
  co_return Response(200, "passed");
}

Task<Response> sleep_long(Gate& gate) {
  gate.entered.set();
  const Result<void> slept = co_await sleep_for(std::chrono::hours(1));
  if (!slept) gate.cancelled.fetch_add(1);
  co_return Response(slept ? 200 : 503);
}

class Stopping : public testing::TestWithParam<ServerScheme> {
 protected:
  ServerOptions options() { return tests::cleartext(GetParam(), 2); }

  void make(const ServerOptions& with) {
    server_ = std::make_unique<Server>(with);
    server_->add_handler(GET, "/pass", [this](Request&) { return pass(gate_); });
    server_->add_handler(GET, "/long", [this](Request&) { return sleep_long(gate_); });
    server_->add_handler(GET, "/", [](Request&) { return Response(200, "at once"); });
    ASSERT_TRUE(server_->start());
    port_ = tests::port_of(*server_);
  }

  // Waits until connections are refused. Workers take a moment to close their listeners.
  void wait_until_closed() {
    const auto until = std::chrono::steady_clock::now() + tests::patience;
    while (Client(port_).error() != ECONNREFUSED) {
      ASSERT_LT(std::chrono::steady_clock::now(), until);
      std::this_thread::yield();
    }
  }

  Gate gate_;  // outlives the server
  std::unique_ptr<Server> server_;
  std::uint16_t port_ = 0;
};

INSTANTIATE_TEST_SUITE_P(Schemes, Stopping, testing::ValuesIn(tests::schemes),
                         [](const auto& row) { return tests::scheme_name(row.param); });

constexpr std::string_view ask_pass = "GET /pass HTTP/1.1\r\nHost: x\r\n\r\n";
constexpr std::string_view ask_long = "GET /long HTTP/1.1\r\nHost: x\r\n\r\n";

TEST_P(Stopping, WhatIsUnderWayEnds) {
  make(options());
  Client client(port_);
  client.send(ask_pass);
  ASSERT_TRUE(gate_.entered.wait());
  server_->stop();
  wait_until_closed();
  gate_.open = true;
  const Reply reply = client.receive();
  EXPECT_EQ(reply.status, 200);
  EXPECT_EQ(reply.body, "passed");
  EXPECT_TRUE(reply.says("Connection: close"));
  EXPECT_TRUE(client.ends());
  server_->wait();
  EXPECT_EQ(gate_.cancelled, 0);
}

TEST_P(Stopping, IdleConnectionsAreClosed) {
  make(options());
  Client used(port_);
  EXPECT_EQ(used.get("/").body, "at once");
  const Client silent(port_);
  server_->stop();
  server_->wait();
  EXPECT_TRUE(used.ends());
}

TEST_P(Stopping, TheSecondStopCancels) {
  make(options());
  Client client(port_);
  client.send(ask_long);
  ASSERT_TRUE(gate_.entered.wait());
  server_->stop();
  wait_until_closed();
  EXPECT_EQ(gate_.cancelled, 0);
  server_->stop();
  server_->wait();
  EXPECT_EQ(gate_.cancelled, 1);
}

TEST_P(Stopping, TheDrainHasALimit) {
  for (const int limit_ms : {1, 0, -1}) {
    ServerOptions hasty = options();
    hasty.drain_limit = std::chrono::milliseconds(limit_ms);
    make(hasty);
    gate_.cancelled = 0;
    Client client(port_);
    client.send(ask_long);
    ASSERT_TRUE(gate_.entered.wait());
    server_->stop();
    server_->wait();
    EXPECT_EQ(gate_.cancelled, 1) << limit_ms;
  }
}

TEST_P(Stopping, DestroyedWithoutStop) {
  make(options());
  Client idle(port_);
  EXPECT_EQ(idle.get("/").status, 200);
  Client busy(port_);
  busy.send(ask_long);
  ASSERT_TRUE(gate_.entered.wait());
  server_.reset();
  EXPECT_EQ(gate_.cancelled, 1);
  EXPECT_TRUE(idle.ends());
  EXPECT_EQ(Client(port_).error(), ECONNREFUSED);
}

TEST_P(Stopping, StopAndWaitAreHarmlessOutsideOfARun) {
  Server server(options());
  server.stop();
  server.wait();
  ASSERT_TRUE(server.start());
  server.stop();
  server.stop();
  server.stop();
  server.wait();
  server.wait();
  server.stop();
}

TEST_P(Stopping, AnyThreadMayStop) {
  for (int round = 0; round < 20; ++round) {
    make(options());
    Client client(port_);
    client.send(ask_long);
    ASSERT_TRUE(gate_.entered.wait());
    std::vector<std::thread> threads;
    for (int i = 0; i < 3; ++i) threads.emplace_back([this] { server_->stop(); });
    server_->wait();
    for (std::thread& thread : threads) thread.join();
  }
  EXPECT_EQ(gate_.cancelled, 20);
}

TEST_P(Stopping, AHandlerMayStop) {
  Server server(options());
  server.add_handler(GET, "/stop", [&server](Request&) {
    server.stop();
    return Response(200, "bye");
  });
  ASSERT_TRUE(server.start());
  Client client(tests::port_of(server));
  EXPECT_EQ(client.get("/stop").body, "bye");
  server.wait();
  EXPECT_TRUE(client.ends());
}

TEST_P(Stopping, RunUntilASignal) {
  sigset_t before;
  ::pthread_sigmask(SIG_BLOCK, nullptr, &before);
  for (const int signals : {1, 2}) {
    Server server(options());
    Gate gate;
    server.add_handler(GET, "/", [&gate](Request&) { return sleep_long(gate); });
    server.add_handler(GET, "/quick", [](Request&) { return Response(200, "quick"); });
    std::thread other;
    const Result<void, std::string> done = server.run([&] {
      other = std::thread([&, port = tests::port_of(server)] {
        Client client(port);
        EXPECT_EQ(client.get("/quick").body, "quick");
        if (signals == 2) {
          client.send("GET / HTTP/1.1\r\nHost: x\r\n\r\n");
          EXPECT_TRUE(gate.entered.wait());
        }
        ::kill(::getpid(), SIGTERM);
        if (signals == 1) return;
        while (Client(port).error() != ECONNREFUSED) std::this_thread::yield();
        ::kill(::getpid(), SIGINT);
      });
    });
    other.join();
    EXPECT_TRUE(done);
    EXPECT_EQ(gate.cancelled, signals - 1);
  }
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

}  // namespace stop_test
}  // namespace h2server
