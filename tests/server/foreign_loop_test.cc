// A server without threads, driven by a loop of the test.
#include <poll.h>

#include <atomic>
#include <chrono>
#include <string>
#include <thread>

#include "h2server/blocking.h"
#include "h2server/server.h"
#include "h2server/timing.h"
#include "server/client.h"
#include "server/http2_client.h"

namespace h2server {
namespace foreign_loop_test {

using namespace std::chrono_literals;

class ForeignLoop : public testing::Test {
 protected:
  ForeignLoop() {
    ServerOptions options = tests::cleartext();
    options.foreign_loop = true;
    server_.emplace(options);
    server_->get("/thread", [this](Request&) {
      return Response::text(std::this_thread::get_id() == own_ ? "own" : "other");
    });
    server_->get("/sleep", [](Request&) -> Task<Response> {
      const Result<void> slept = co_await sleep_for(1ms);
      co_return Response::text(slept ? "slept" : "cancelled");
    });
    server_->get("/blocking", [](Request&) -> Task<Response> {
      const Result<int> value = co_await run_blocking([] { return 7; });
      co_return Response::text(std::to_string(value.value()));
    });
    server_->get("/long", [](Request&) -> Task<Response> {
      const Result<void> slept = co_await sleep_for(1h);
      co_return Response::text(slept ? "slept" : "cancelled");
    });
  }

  // Runs the loop while `work` runs on a thread.
  template <class Work>
  void with_loop(Work work) {
    std::atomic<bool> done{false};
    std::thread thread([&] {
      work();
      done = true;
    });
    while (!done.load()) turn(10);
    thread.join();
  }
  void turn(int ms) {
    pollfd watched{.fd = server_->descriptor(), .events = POLLIN, .revents = 0};
    if (::poll(&watched, 1, ms) > 0) server_->poll();
  }

  const std::thread::id own_ = std::this_thread::get_id();
  std::optional<Server> server_;
};

TEST_F(ForeignLoop, ServesOnTheCallersThread) {
  ASSERT_TRUE(server_->start());
  EXPECT_GE(server_->descriptor(), 0);
  EXPECT_FALSE(server_->ended());
  with_loop([this] {
    tests::Client client(tests::port_of(*server_));
    for (int round = 0; round < 3; ++round) {
      EXPECT_EQ(client.get("/thread").body, "own");
      EXPECT_EQ(client.get("/sleep").body, "slept") << "its timers make the descriptor readable";
      EXPECT_EQ(client.get("/blocking").body, "7") << "other threads wake it";
    }
    tests::Http2Client http2(tests::port_of(*server_));
    EXPECT_EQ(http2.get("/thread"), "own");
  });
  // Nothing to do, so the loop may sleep.
  server_->poll();
  pollfd watched{.fd = server_->descriptor(), .events = POLLIN, .revents = 0};
  EXPECT_EQ(::poll(&watched, 1, 0), 0);
  server_->stop();
  while (!server_->ended()) turn(1000);
  EXPECT_TRUE(server_->wait());
}

TEST_F(ForeignLoop, WaitDrivesTheEnd) {
  ASSERT_TRUE(server_->start());
  tests::Client client(tests::port_of(*server_));
  client.send("GET /long HTTP/1.1\r\nHost: x\r\n\r\n");
  turn(1000);
  server_->poll();
  server_->stop();
  server_->stop();  // cancels
  EXPECT_TRUE(server_->wait());
  EXPECT_EQ(client.receive().status, 0) << "the handler was cancelled";
  ASSERT_TRUE(server_->start()) << "it can be started again";
}

TEST_F(ForeignLoop, NeedsOneWorkerOnEpoll) {
  for (const ServerOptions& wrong :
       {ServerOptions{.cleartext = true, .threads = 2, .foreign_loop = true},
        ServerOptions{.cleartext = true, .scheme = ServerScheme::acceptor, .foreign_loop = true},
        ServerOptions{.cleartext = true, .io = IoEngine::io_uring, .foreign_loop = true}}) {
    Server server(wrong);
    const Result<void, std::string> started = server.start();
    ASSERT_FALSE(started);
    EXPECT_NE(started.error().find("one worker"), std::string::npos) << started.error();
  }
  Server threads(tests::cleartext());
  EXPECT_EQ(threads.descriptor(), -1);
}

}  // namespace foreign_loop_test
}  // namespace h2server
