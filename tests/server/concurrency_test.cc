// What handlers may await, on every engine and in every scheme that runs in threads.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <filesystem>
#include <future>
#include <memory>
#include <stdexcept>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

#include "h2server/blocking.h"
#include "h2server/channel.h"
#include "h2server/completion.h"
#include "h2server/server.h"
#include "h2server/timing.h"
#include "h2server/when_all.h"
#include "server/client.h"
#include "server/http2_client.h"

namespace h2server {
namespace concurrency_test {

using namespace std::chrono_literals;
using tests::Client;
using tests::Http2Client;

struct Where {
  ServerScheme scheme;
  IoEngine io;
  std::string name;
};

const std::vector<Where> everywhere = {
    {ServerScheme::reuseport, IoEngine::epoll, "epoll"},
    {ServerScheme::reuseport, IoEngine::automatic, "automatic"},
    {ServerScheme::acceptor, IoEngine::epoll, "acceptor"},
    {ServerScheme::thread_pool, IoEngine::automatic, "thread_pool"},
    {ServerScheme::thread_per_connection, IoEngine::automatic, "thread_per_connection"},
};

std::string name_of(int code) { return code == 0 ? "none" : std::to_string(code); }

class Concurrency : public testing::TestWithParam<Where> {
 protected:
  ServerOptions options() const {
    ServerOptions options = tests::cleartext(GetParam().scheme, 4);
    options.io = GetParam().io;
    return options;
  }
  bool has_workers() const {
    return GetParam().scheme == ServerScheme::reuseport ||
           GetParam().scheme == ServerScheme::acceptor;
  }
  void start(Server& server) {
    ASSERT_TRUE(server.start());
    port_ = tests::port_of(server);
  }
  // The same over both protocols.
  void expect_body(const std::string& target, const std::string& body) {
    EXPECT_EQ(Client(port_).get(target).body, body) << target;
    EXPECT_EQ(Http2Client(port_).get(target), body) << target;
  }

  std::uint16_t port_ = 0;
};

INSTANTIATE_TEST_SUITE_P(Schemes, Concurrency, testing::ValuesIn(everywhere),
                         [](const auto& row) { return row.param.name; });

// --- Completion -------------------------------------------------------------------------------

Task<Response> completes(Request& request) {
  Completion<std::string> done;
  const std::string how(request.param("how"));
  std::thread thread;
  if (how == "thread" || how == "late") {
    thread = std::thread([how, set = done.completer()] {
      if (how == "late") std::this_thread::sleep_for(20ms);
      set("from a thread");
    });
  } else if (how == "here") {
    const Completer<std::string> set = done.completer();
    EXPECT_TRUE(set("from here"));
    EXPECT_FALSE(set("again"));
  } else if (how == "error") {
    done.completer()(std::unexpected(Error{EIO, "a driver"}));
  } else {
    const Completer<std::string> dropped = done.completer();
  }
  const Result<std::string> value = co_await done;
  if (thread.joinable()) thread.join();
  co_return Response(200, value ? *value : name_of(value.error().code));
}

TEST_P(Concurrency, ACompletionWaitsForAnyThread) {
  Server server(options());
  server.get("/{how}", completes);
  start(server);
  for (int round = 0; round < 20; ++round) expect_body("/thread", "from a thread");
  expect_body("/late", "from a thread");
  expect_body("/here", "from here");
  expect_body("/error", name_of(EIO));
  expect_body("/dropped", name_of(EPIPE));
}

TEST_P(Concurrency, ManyCompletionsOfOneConnection) {
  Server server(options());
  std::mutex mutex;
  std::vector<Completer<int>> waiting;
  server.get("/wait", [&](Request&) -> Task<Response> {
    Completion<int> done;
    {
      const std::lock_guard lock(mutex);
      waiting.push_back(done.completer());
    }
    const Result<int> value = co_await done;
    co_return Response(200, std::to_string(value.value_or(0)));
  });
  start(server);
  constexpr std::size_t requests = 100;
  Http2Client client(port_);
  client.ask(std::vector<std::string>(requests, "/wait"));
  std::thread fulfils([&] {
    for (std::size_t fulfilled = 0; fulfilled < requests;) {
      const std::lock_guard lock(mutex);
      for (const Completer<int>& set : waiting) EXPECT_TRUE(set(7));
      fulfilled += waiting.size();
      waiting.clear();
    }
  });
  EXPECT_EQ(client.receive(), std::string(requests, '7'));
  fulfils.join();
}

// A Completer may outlive the handler, the server and its threads.
TEST_P(Concurrency, ACompleterMayOutliveTheServer) {
  std::optional<Completer<int>> kept;
  {
    Server server(options());
    server.get("/", [&](Request&) -> Task<Response> {
      Completion<int> done;
      kept = done.completer();
      const Result<int> value =
          co_await with_timeout(1ms, [](Completion<int>& wait) -> Task<Result<int>> {
            Result<int> result = co_await wait;
            co_return result;
          }(done));
      co_return Response(200, name_of(value ? 0 : value.error().code));
    });
    start(server);
    EXPECT_EQ(Client(port_).get("/").body, name_of(ETIMEDOUT));
  }
  EXPECT_TRUE((*kept)(1));
}

// --- run_blocking -----------------------------------------------------------------------------

TEST_P(Concurrency, BlockingCallsRunOnOtherThreads) {
  Server server(options());
  server.get("/value", [](Request&) -> Task<Response> {
    const std::thread::id own = std::this_thread::get_id();
    const Result<bool> other =
        co_await run_blocking([own] { return std::this_thread::get_id() != own; });
    const bool back = std::this_thread::get_id() == own;
    co_return Response(200, other.value() && back ? "other" : "own");
  });
  server.get("/nothing", [](Request&) -> Task<Response> {
    int calls = 0;
    const Result<void> made = co_await run_blocking([&calls] { ++calls; });
    co_return Response(200, made ? std::to_string(calls) : "failed");
  });
  server.get("/throws", [](Request&) -> Task<Response> {
    std::string caught;
    try {
      static_cast<void>(co_await run_blocking([]() -> int { throw std::runtime_error("deep"); }));
    } catch (const std::runtime_error& error) {
      caught = error.what();
    }
    co_return Response(200, caught);
  });
  start(server);
  expect_body("/value", "other");
  expect_body("/nothing", "1");
  expect_body("/throws", "deep");
}

TEST_P(Concurrency, AFullPoolAnswers503) {
  if (!has_workers()) GTEST_SKIP() << "a thread for each connection";
  ServerOptions with = options();
  with.threads = 1;  // so that the third request comes after the second one's call is made
  with.blocking_threads_max = 1;
  with.blocking_queue_max = 1;
  std::promise<void> open;
  const std::shared_future<void> opened = open.get_future().share();
  std::atomic<int> entered{0};
  std::atomic<int> running{0};
  Server server(with);
  server.get("/wait", [&](Request&) -> Task<Response> {
    ++entered;
    const Result<void> made = co_await run_blocking([&] {
      ++running;
      opened.wait();
    });
    made.value();
    co_return Response(200, "waited");
  });
  start(server);
  Client first(port_), second(port_), third(port_);
  const std::string get = "GET /wait HTTP/1.1\r\nHost: x\r\n\r\n";
  first.send(get);
  while (running.load() < 1) std::this_thread::yield();
  second.send(get);
  while (entered.load() < 2) std::this_thread::yield();  // one runs, one waits
  testing::internal::CaptureStderr();
  EXPECT_EQ(third.get("/wait").status, 503);
  testing::internal::GetCapturedStderr();
  open.set_value();
  EXPECT_EQ(first.receive().body, "waited");
  EXPECT_EQ(second.receive().body, "waited");
}

// --- times and groups -------------------------------------------------------------------------

Task<Result<int>> seven_after(std::chrono::milliseconds time) {
  const Result<void> slept = co_await sleep_for(time);
  if (!slept) co_return std::unexpected(slept.error());
  co_return 7;
}

Task<int> plain_after(std::chrono::milliseconds time) {
  const Result<void> slept = co_await sleep_for(time);
  co_return slept ? 7 : 0;
}

Task<void> nothing_after(std::chrono::milliseconds time) { co_await sleep_for(time); }

TEST_P(Concurrency, ATimeoutStopsItsTask) {
  Server server(options());
  server.get("/in_time", [](Request&) -> Task<Response> {
    const Result<int> value = co_await with_timeout(1h, seven_after(1ms));
    co_return Response(200, std::to_string(value.value_or(0)));
  });
  server.get("/late", [](Request&) -> Task<Response> {
    const Result<int> value = co_await with_timeout(1ms, seven_after(1h));
    const Result<int> plain = co_await with_timeout(1ms, plain_after(1h));
    const Result<void> nothing = co_await with_timeout(1ms, nothing_after(1h));
    const bool all = !value && value.error().code == ETIMEDOUT && !plain &&
                     plain.error().code == ETIMEDOUT && !nothing &&
                     nothing.error().code == ETIMEDOUT;
    co_return Response(200, all ? "timed out" : "in time");
  });
  server.get("/outer", [](Request&) -> Task<Response> {
    const auto inner = []() -> Task<Result<int>> {
      Result<int> value = co_await with_timeout(1h, seven_after(1h));
      co_return value;
    };
    const Result<int> value = co_await with_timeout(1ms, inner());
    co_return Response(200, name_of(value ? 0 : value.error().code));
  });
  start(server);
  expect_body("/in_time", "7");
  expect_body("/late", "timed out");
  expect_body("/outer", name_of(ETIMEDOUT));
}

TEST_P(Concurrency, AllOfSeveralTasks) {
  Server server(options());
  server.get("/tuple", [](Request&) -> Task<Response> {
    auto [seven, plain, nothing] =
        co_await when_all(seven_after(1ms), plain_after(1ms), nothing_after(1ms));
    static_cast<void>(nothing);
    co_return Response(200, std::to_string(seven.value_or(0) + plain));
  });
  server.get("/vector", [](Request&) -> Task<Response> {
    std::vector<Task<int>> tasks;
    for (int i = 0; i < 10; ++i) tasks.push_back(plain_after(1ms));
    const std::vector<int> values = co_await when_all(std::move(tasks));
    int sum = 0;
    for (const int value : values) sum += value;
    co_return Response(200, std::to_string(sum));
  });
  server.get("/throws", [](Request&) -> Task<Response> {
    const auto thrower = []() -> Task<int> {
      throw std::runtime_error("one of them");
      co_return 0;
    };
    std::string caught;
    try {
      co_await when_all(plain_after(1ms), thrower());
    } catch (const std::runtime_error& error) {
      caught = error.what();
    }
    co_return Response(200, caught);
  });
  start(server);
  expect_body("/tuple", "14");
  expect_body("/vector", "70");
  expect_body("/throws", "one of them");
}

// --- channels, posts and tasks of the server --------------------------------------------------

TEST_P(Concurrency, AChannelConnectsRequests) {
  if (!has_workers()) GTEST_SKIP() << "its waits hold a thread each";
  Server server(options());
  Channel<std::string> channel(2);
  server.get("/send/{what}", [&](Request& request) -> Task<Response> {
    const Result<void> sent = co_await channel.send(std::string(request.param("what")));
    co_return Response(200, sent ? "sent" : name_of(sent.error().code));
  });
  std::atomic<int> receivers{0};
  server.get("/receive", [&](Request&) -> Task<Response> {
    ++receivers;
    const Result<std::string> value = co_await channel.receive();
    co_return Response(200, value ? *value : name_of(value.error().code));
  });
  start(server);
  Client sender(port_), receiver(port_);
  receiver.send("GET /receive HTTP/1.1\r\nHost: x\r\n\r\n");
  EXPECT_EQ(sender.get("/send/a").body, "sent");
  EXPECT_EQ(receiver.receive().body, "a");
  EXPECT_EQ(sender.get("/send/b").body, "sent");
  EXPECT_EQ(sender.get("/send/c").body, "sent");
  EXPECT_FALSE(channel.try_send("full"));
  sender.send("GET /send/d HTTP/1.1\r\nHost: x\r\n\r\n");  // waits for room
  for (const char* const value : {"b", "c", "d"}) EXPECT_EQ(receiver.get("/receive").body, value);
  EXPECT_EQ(sender.receive().body, "sent");
  const int before = receivers.load();
  receiver.send("GET /receive HTTP/1.1\r\nHost: x\r\n\r\n");
  while (receivers.load() == before) std::this_thread::yield();
  channel.close();
  EXPECT_EQ(receiver.receive().body, name_of(EPIPE));
  EXPECT_EQ(sender.get("/send/e").body, name_of(EPIPE));
}

TEST_P(Concurrency, PostsReachEveryWorkerAndTasksStopWithTheServer) {
  Server server(options());
  std::atomic<int> ended{0};
  std::atomic<int> reason{-1};
  const auto ticks = [&]() -> Task<void> {
    const StopToken token = co_await own_stop_token();
    for (;;) {
      const Result<void> slept = co_await sleep_for(1ms);
      if (!slept) break;
    }
    reason = static_cast<int>(token.reason());
    ++ended;
  };
  EXPECT_FALSE(server.post(0, [] {}));
  EXPECT_EQ(server.workers(), 0U);
  EXPECT_EQ(server.spawn(ticks()), has_workers());  // begins with the server
  start(server);
  if (!has_workers()) {
    EXPECT_EQ(server.workers(), 0U);
    EXPECT_FALSE(server.spawn(ticks()));
    return;
  }
  ASSERT_EQ(server.workers(), 4U);
  EXPECT_TRUE(server.spawn(ticks()));
  std::mutex mutex;
  std::set<std::thread::id> threads;
  std::atomic<int> posted{0};
  for (int round = 0; round < 2; ++round) {
    for (unsigned worker = 0; worker < 4; ++worker) {
      EXPECT_TRUE(server.post(worker, [&] {
        const std::lock_guard lock(mutex);
        threads.insert(std::this_thread::get_id());
        ++posted;
      }));
    }
  }
  EXPECT_FALSE(server.post(4, [] {}));
  while (posted.load() < 8) std::this_thread::yield();
  EXPECT_EQ(threads.size(), 4U);
  server.stop();
  EXPECT_TRUE(server.wait());
  EXPECT_EQ(ended.load(), 2);
  EXPECT_EQ(reason.load(), static_cast<int>(StopReason::server_stops));
  EXPECT_FALSE(server.post(0, [] {}));
}

TEST_P(Concurrency, WhatTasksAndPostsThrowIsLogged) {
  if (!has_workers()) GTEST_SKIP() << "no workers";
  Server server(options());
  start(server);
  testing::internal::CaptureStderr();
  std::atomic<int> begun{0};
  server.spawn([](std::atomic<int>& counter) -> Task<void> {
    ++counter;
    throw std::runtime_error("a task");
    co_return;
  }(begun));
  EXPECT_TRUE(server.post(0, [&begun] {
    ++begun;
    throw std::runtime_error("a post");
  }));
  while (begun.load() < 2) std::this_thread::yield();
  server.stop();
  EXPECT_TRUE(server.wait());
  const std::string log = testing::internal::GetCapturedStderr();
  EXPECT_NE(log.find("a spawned task failed: a task\n"), std::string::npos) << log;
  EXPECT_NE(log.find("a posted function failed: a post\n"), std::string::npos) << log;
}

// --- stop tokens ------------------------------------------------------------------------------

struct Ended {
  std::promise<std::string> promise;
  void note(const Request& request, int code) {
    promise.set_value(std::to_string(static_cast<int>(request.stop_token().reason())) + " " +
                      name_of(code));
  }
  std::string wait() {
    std::future<std::string> future = promise.get_future();
    if (future.wait_for(tests::patience) != std::future_status::ready) return "nothing";
    return future.get();
  }
};

std::string ended_by(StopReason reason) {
  return std::to_string(static_cast<int>(reason)) + " " + name_of(ECANCELED);
}

TEST_P(Concurrency, TheTokenStopsWhenTheClientLeaves) {
  if (!has_workers()) GTEST_SKIP() << "a blocking thread does not watch its client";
  for (const std::string how : {"sleep", "completion", "queue", "callback"}) {
    for (const bool http2 : {false, true}) {
      Ended ended;
      tests::Signal entered;
      Server server(options());
      server.get("/", [&](Request& request) -> Task<Response> {
        entered.set();
        bool called = false;
        const StopCallback callback(request.stop_token(), [&called] { called = true; });
        Completion<int> done;
        const Completer<int> never = done.completer();
        Channel<int> channel(1);
        int code = 0;
        if (how == "sleep") {
          const Result<void> slept = co_await sleep_for(1h);
          if (!slept) code = slept.error().code;
        } else if (how == "completion") {
          const Result<int> value = co_await done;
          if (!value) code = value.error().code;
        } else if (how == "queue") {
          const Result<int> value = co_await channel.receive();
          if (!value) code = value.error().code;
        } else {
          while (!called) co_await sleep_for(1ms);
          code = ECANCELED;
        }
        ended.note(request, called ? code : EINVAL);
        co_return Response(200);
      });
      start(server);
      if (http2) {
        Http2Client client(port_);
        client.ask({"/"});
        entered.wait();
      } else {
        Client client(port_);
        client.send("GET / HTTP/1.1\r\nHost: x\r\n\r\n");
        entered.wait();
      }
      EXPECT_EQ(ended.wait(), ended_by(StopReason::client_left)) << how << http2;
    }
  }
}

// The end may arrive with the request, before the handler waits for anything.
TEST_P(Concurrency, TheTokenStopsWhenTheClientLeavesAtOnce) {
  if (!has_workers()) GTEST_SKIP() << "a blocking thread does not watch its client";
  for (const std::string how : {"sleep", "completion", "queue", "blocking"}) {
    for (const bool later : {false, true}) {
      Ended ended;
      Channel<int> channel(1);
      Server server(options());
      server.get("/", [&](Request& request) -> Task<Response> {
        Completion<int> done;
        const Completer<int> never = done.completer();
        Result<void> waited;
        if (how == "sleep") {
          waited = co_await sleep_for(1h);
        } else if (how == "completion") {
          const Result<int> value = co_await done;
          if (!value) waited = std::unexpected(value.error());
        } else if (how == "queue") {
          const Result<int> value = co_await channel.receive();
          if (!value) waited = std::unexpected(value.error());
        } else {
          waited = co_await run_blocking([](std::stop_token stop) {
            while (!stop.stop_requested()) std::this_thread::yield();
          });
          if (waited) waited = std::unexpected(Error{ECANCELED, "it has run to its end"});
        }
        ended.note(request, waited ? 0 : waited.error().code);
        co_return Response(200);
      });
      start(server);
      Client client(port_);
      // The server waits for the request already, so that it gets both in one event.
      if (later) std::this_thread::sleep_for(10ms);
      client.send("GET / HTTP/1.1\r\nHost: x\r\n\r\n");
      client.close_sending();
      EXPECT_EQ(ended.wait(), ended_by(StopReason::client_left)) << how << later;
    }
  }
}

// A callback of a middleware is called, too.
TEST_P(Concurrency, ACallbackBeforeTheHandlerIsCalled) {
  if (!has_workers()) GTEST_SKIP() << "a blocking thread does not watch its client";
  std::promise<void> called;
  tests::Signal entered;
  Server server(options());
  server.use([&](Request& request) {
    request.attach(
        std::make_shared<StopCallback>(request.stop_token(), [&called] { called.set_value(); }));
    return std::optional<Response>();
  });
  server.post("/", [&](Request& request) -> Task<Response> {
    const Result<std::string> body = co_await request.read_all(10);
    entered.set();
    const Result<void> slept = co_await sleep_for(1h);
    co_return Response(slept ? 200 : 503, *body);
  });
  start(server);
  {
    Client client(port_);
    client.send("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\n\r\n");
    std::this_thread::sleep_for(5ms);
    client.send("abc");
    entered.wait();
  }
  EXPECT_EQ(called.get_future().wait_for(tests::patience), std::future_status::ready);
}

// Returns how many sockets this process has open.
std::size_t open_sockets() {
  std::size_t count = 0;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
    std::error_code closed_meanwhile;
    const std::filesystem::path target =
        std::filesystem::read_symlink(entry.path(), closed_meanwhile);
    if (target.string().starts_with("socket:")) ++count;
  }
  return count;
}

TEST(SlowBody, IsTheFaultOfTheClient) {
  ServerOptions options = tests::cleartext(ServerScheme::reuseport, 1);
  options.limits.body_idle_ms_max = 50;
  Server server(options);
  server.post("/", [](Request& request) -> Task<Response> {
    const Result<std::string> body = co_await request.read_all(100);
    co_return Response::text(body.value());
  });
  ASSERT_TRUE(server.start());
  tests::Client client(tests::port_of(server));
  client.send("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 5\r\n\r\nab");
  EXPECT_EQ(client.receive().status, 408);
}

// The watch for the client, begun by middleware, ends with a connection whose responses can't be
// sent.
TEST(StopToken, OfARequestBehindResponsesThatNobodyReads) {
  ServerOptions options = tests::cleartext(ServerScheme::reuseport, 1);
  options.limits.send_idle_ms_max = 300;
  const std::string big(100'000, 'b');  // outlives the server, whose handlers read it
  std::atomic<std::size_t> begun{0};
  Server server(options);
  server.get("/big", [&big](Request&) { return Response(200, big); });
  server.get("/first", [&](Request&) {
    ++begun;
    return Response(200, big);
  });
  server.get("/fine", [](Request&) { return Response(204); });
  Routes watched = server.group("/watched");
  watched.use([](Request& request) -> std::optional<Response> {
    request.attach(std::make_shared<StopCallback>(request.stop_token(), [] {}));
    return std::nullopt;
  });
  watched.get("/later", [](Request&) -> Task<Response> {
    co_await sleep_for(std::chrono::milliseconds(1));
    co_return Response(204);
  });
  ASSERT_TRUE(server.start());
  const std::uint16_t port = tests::port_of(server);
  const std::size_t open = open_sockets();
  std::vector<std::unique_ptr<tests::Client>> clients;
  for (int before = 20; before < 80; ++before) {
    std::string requests = "GET /first HTTP/1.1\r\nHost: h\r\n\r\n";
    for (int i = 0; i < before; ++i) requests += "GET /big HTTP/1.1\r\nHost: h\r\n\r\n";
    requests += "GET /watched/later HTTP/1.1\r\nHost: h\r\n\r\n";
    clients.push_back(std::make_unique<tests::Client>(port));
    clients.back()->send(requests);
  }
  while (begun.load() < clients.size()) std::this_thread::yield();
  const auto until = std::chrono::steady_clock::now() + tests::patience;
  while (open_sockets() > open + clients.size() && std::chrono::steady_clock::now() < until) {
    std::this_thread::yield();
  }
  EXPECT_EQ(open_sockets(), open + clients.size()) << "the server has closed its ends";
  tests::Client client(port);
  EXPECT_EQ(client.get("/fine").status, 204);
}

// A request that follows at once is not lost, and the connection goes on.
TEST_P(Concurrency, ARequestThatArrivesEarlyIsServedNext) {
  Server server(options());
  tests::Signal entered;
  std::atomic<bool> sent{false};
  server.get("/{n}", [&](Request& request) -> Task<Response> {
    const std::string n(request.param("n"));
    if (n == "1") entered.set();
    while (!sent.load()) co_await sleep_for(1ms);
    const Result<void> slept = co_await sleep_for(5ms);
    co_return Response(slept ? 200 : 503, n);
  });
  start(server);
  Client client(port_);
  for (int round = 0; round < 3; ++round) {
    sent.store(false);
    client.send("GET /1 HTTP/1.1\r\nHost: x\r\n\r\n");
    ASSERT_TRUE(entered.wait());
    client.send("GET /2 HTTP/1.1\r\nHost: x\r\n\r\nGET /3 HTTP/1.1\r\nHost: x\r\n\r\n");
    sent.store(true);
    for (const char* const n : {"1", "2", "3"}) EXPECT_EQ(client.receive().body, n);
  }
}

TEST_P(Concurrency, TheTokenStopsAtTheDeadline) {
  Ended ended;
  Server server(options());
  server.get("/", [&](Request& request) -> Task<Response> {
    request.set_deadline(1ms);
    const Result<void> slept = co_await sleep_for(1h);
    ended.note(request, slept ? 0 : slept.error().code);
    slept.value();
    co_return Response(200);
  });
  server.post("/", [](Request& request) -> Task<Response> {
    request.set_deadline(1ms);
    const Result<std::string> body = co_await request.read_all(100);
    co_return Response(body ? 200 : 504, name_of(body ? 0 : body.error().code));
  });
  start(server);
  EXPECT_EQ(Client(port_).get("/").status, 503);
  EXPECT_EQ(ended.wait(), ended_by(StopReason::deadline));
  if (!has_workers()) return;  // a blocking read has no such end
  Client client(port_);
  client.send("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\nab");
  EXPECT_EQ(client.receive().body, name_of(ECANCELED));
}

TEST_P(Concurrency, TheTokenStopsAtTheDrainLimit) {
  for (const bool http2 : {false, true}) {
    Ended ended;
    tests::Signal entered;
    ServerOptions with = options();
    with.drain_limit = 50ms;
    Server server(with);
    server.get("/", [&](Request& request) -> Task<Response> {
      entered.set();
      Completion<int> done;
      const Completer<int> never = done.completer();
      const Result<int> value = co_await done;
      ended.note(request, value ? 0 : value.error().code);
      co_return Response(200);
    });
    start(server);
    Client client1(port_);
    Http2Client client2(port_);
    if (http2) client2.ask({"/"});
    else client1.send("GET / HTTP/1.1\r\nHost: x\r\n\r\n");
    entered.wait();
    server.stop();
    EXPECT_TRUE(server.wait());
    EXPECT_EQ(ended.wait(), ended_by(StopReason::server_stops));
  }
}

}  // namespace concurrency_test
}  // namespace h2server
