// How long the turns of event loops take: what is counted of them, and what is logged.
#include "io/turn_times.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <numeric>
#include <thread>

#include "base/log.h"
#include "h2server/server.h"
#include "server/client.h"
#include "server/http2_client.h"
#include "server/long_turns.h"

namespace h2server::server {
namespace turn_times_test {

using Counts = std::vector<std::uint64_t>;

TEST(TurnTimes, AreCountedByTheirBounds) {
  io::TurnTimes times;
  EXPECT_EQ(times.counts(), Counts(io::TurnTimes::buckets, 0));
  times.add(0);
  times.add(-4);  // of a clock that was read late
  times.add(1);
  times.add(10);
  times.add(11);
  times.add(100);
  times.add(101);
  times.add(1000);
  times.add(10'000);
  times.add(10'001);
  EXPECT_EQ(times.counts(), (Counts{4, 1, 0, 1, 1, 1, 1, 1}));
  EXPECT_EQ(times.total(), 10U);
  EXPECT_EQ(times.sum_ms(), 1U + 10 + 11 + 100 + 101 + 1000 + 10'000 + 10'001);
}

class LongTurnsTest : public testing::Test {
 protected:
  void ask(Method method, const std::string& pattern) {
    counters_.last_route.method = method;
    counters_.last_route.pattern = &pattern;
  }

  const std::string slow_ = "/slow/{n}";
  WorkerCounters counters_;
  LongTurns turns_{counters_};
};

TEST_F(LongTurnsTest, TheLineHasTheTimeAndTheRoute) {
  EXPECT_EQ(turns_.note(230, 0), "a worker served nobody for 230 ms; it has had no request");
  ask(Method::PUT, slow_);
  EXPECT_EQ(turns_.note(101, 20'000),
            "a worker served nobody for 101 ms; its last request was for PUT /slow/{n}");
}

TEST_F(LongTurnsTest, ThereIsOneLineInTenSeconds) {
  ask(Method::GET, slow_);
  EXPECT_TRUE(turns_.note(150, 5'000));
  EXPECT_FALSE(turns_.note(900, 5'900));
  EXPECT_FALSE(turns_.note(300, 14'999));
  EXPECT_EQ(
      turns_.note(120, 15'000),
      "a worker served nobody for 120 ms; its last request was for GET /slow/{n}; this happened "
      "2 more times since the last such line, for 900 ms at most");
  EXPECT_FALSE(turns_.note(500, 15'001));
  EXPECT_EQ(
      turns_.note(110, 25'000),
      "a worker served nobody for 110 ms; its last request was for GET /slow/{n}; this happened "
      "1 more time since the last such line, for 500 ms at most");
  EXPECT_EQ(turns_.note(110, 35'000),
            "a worker served nobody for 110 ms; its last request was for GET /slow/{n}");
}

struct Loop {
  ServerScheme scheme;
  IoEngine engine;
};

// What a server has told whose worker was held by a handler.
struct Told {
  std::string log;
  std::string metrics;
  ServerStatus status;
};

class HeldWorker : public testing::TestWithParam<Loop> {
 protected:
  // The error is that of the start.
  static Result<Told, std::string> hold() {
    ServerOptions options = tests::cleartext(GetParam().scheme);
    options.io = GetParam().engine;
    options.metrics = true;
    Server server(options);
    server.add_handler(GET, "/", [](Request&) { return Response(200); });
    server.add_handler(GET, "/slow/{n}", [](Request&) {
      std::this_thread::sleep_for(std::chrono::milliseconds(150));  // as no handler should
      return Response(200);
    });
    base::flush_log();  // an earlier test may have had the same line
    testing::internal::CaptureStderr();
    Told told;
    const Result<void, std::string> started = server.start();
    if (started) {
      tests::Client client(tests::port_of(server));
      EXPECT_EQ(client.get("/slow/secret").status, 200);
      EXPECT_EQ(client.get("/").status, 200);  // in a later turn
      told.metrics = server.metrics();
      told.status = server.status();
    }
    server.stop();
    EXPECT_EQ(started.has_value(), started && server.wait());
    told.log = testing::internal::GetCapturedStderr();
    if (!started) return std::unexpected(started.error());
    return told;
  }

  static std::uint64_t long_turns(const ServerStatus& status) {
    if (status.workers.size() != 1) return 0;
    const std::vector<std::uint64_t>& times = status.workers.front().turn_times;
    const auto above = std::ranges::upper_bound(status.turn_bounds_us, 100'000U);
    const auto first = above - status.turn_bounds_us.begin();
    return std::accumulate(times.begin() + first, times.end(), std::uint64_t{0});
  }
};

INSTANTIATE_TEST_SUITE_P(Loops, HeldWorker,
                         testing::Values(Loop{ServerScheme::reuseport, IoEngine::epoll},
                                         Loop{ServerScheme::reuseport, IoEngine::io_uring},
                                         Loop{ServerScheme::acceptor, IoEngine::epoll}),
                         [](const auto& row) {
                           return tests::scheme_name(row.param.scheme) +
                                  (row.param.engine == IoEngine::epoll ? "_epoll" : "_io_uring");
                         });

TEST_P(HeldWorker, SaysSo) {
  Result<Told, std::string> told = hold();
  // A busy machine may hold it another time, and only the first is logged.
  while (told && long_turns(told->status) > 1) told = hold();
  if (!told && GetParam().engine == IoEngine::io_uring) GTEST_SKIP() << told.error();
  ASSERT_TRUE(told) << told.error();
  EXPECT_EQ(long_turns(told->status), 1U);
  EXPECT_GE(told->status.workers.at(0).turns_ms, 130U) << "but for ticks of the clock";
  const std::string& log = told->log;
  constexpr std::string_view begin = "a worker served nobody for ";
  const std::size_t at = log.find(begin);
  ASSERT_NE(at, std::string::npos) << log;
  EXPECT_GE(std::stoi(log.substr(at + begin.size())), 130);
  EXPECT_NE(log.find(" ms; its last request was for GET /slow/{n}", at), std::string::npos) << log;
  EXPECT_EQ(log.find("secret"), std::string::npos) << log;
  EXPECT_NE(told->metrics.find("h2server_turn_seconds_bucket{worker=\"1\",le=\"0.1\"}"),
            std::string::npos);
}

// A client's many requests come at once, and each takes long.
TEST_P(HeldWorker, LetsOthersIn) {
  constexpr int requests = 24;
  for (const bool with_preface : {false, true}) {
    ServerOptions options = tests::cleartext(GetParam().scheme);
    options.io = GetParam().engine;
    Server server(options);
    std::atomic<tests::Client*> other = nullptr;
    std::atomic<int> begun = 0;
    std::atomic<int> before_other = -1;
    server.add_handler(GET, "/other", [&](Request&) {
      before_other = begun.load();
      return Response(200);
    });
    server.add_handler(GET, "/slow", [&](Request&) {
      if (begun++ == 0) other.load()->send("GET /other HTTP/1.1\r\nHost: a\r\n\r\n");
      std::this_thread::sleep_for(std::chrono::milliseconds(25));
      return Response(200);
    });
    const Result<void, std::string> started = server.start();
    if (!started && GetParam().engine == IoEngine::io_uring) GTEST_SKIP() << started.error();
    ASSERT_TRUE(started) << started.error();
    tests::Client another(tests::port_of(server));
    other = &another;
    EXPECT_EQ(another.get("/other").status, 200);
    const std::vector<std::string> targets(requests, "/slow");
    tests::Http2Client client(tests::port_of(server), 1,
                              with_preface ? targets : std::vector<std::string>());
    if (!with_preface) {
      client.get("/other");
      client.ask(targets);
    }
    client.receive();
    EXPECT_EQ(another.receive().status, 200);
    EXPECT_EQ(begun, requests);
    EXPECT_GE(before_other, 1) << with_preface;
    EXPECT_LE(before_other, 16) << with_preface;
  }
}

}  // namespace turn_times_test
}  // namespace h2server::server
