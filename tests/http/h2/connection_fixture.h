// Fixture: an HTTP/2 connection over a fake stream and engine, with handlers, and a client. Does no
// I/O; everything runs on the thread of the test.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cerrno>
#include <deque>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "http/fake_transport.h"
#include "http/h2/connection.h"
#include "http/h2/nghttp2_client.h"
#include "http/h2/session_host.h"

namespace h2server::http::h2 {

class ConnectionFixture : public testing::TestWithParam<Http2Implementation> {
 protected:
  ConnectionFixture() {
    add(GET, "/hello", [](Request&) { return Response(200, "hello"); });
    add(GET, "/throw", [](Request&) -> Response { throw std::runtime_error("plain"); });
    add(POST, "/ignore", [](Request&) { return Response(200, "ignored"); });
    add(GET, "/wait", [this](Request&) -> Task<Response> {
      co_await event_.wait();
      co_return Response(200, "waited");
    });
    add(POST, "/echo", [this](Request& request) -> Task<Response> {
      const Result<std::string> body = co_await request.read_all(10'000'000);
      if (!body) errors_.push_back(body.error().code);
      co_return Response(200, body ? *body : "broken");
    });
    add(POST, "/echo_later", [this](Request& request) -> Task<Response> {
      co_await event_.wait();
      const Result<std::string> body = co_await request.read_all(10'000'000);
      co_return Response(200, body ? *body : "broken");
    });
  }
  ~ConnectionFixture() override { EXPECT_EQ(tasks_.running(), 0U); }

  void add(Method method, const char* path, Handler handler) {
    ASSERT_TRUE(router_.add(method, path, std::move(handler)).has_value());
  }
  void add_streamed(std::vector<std::string> pieces, std::optional<std::uint64_t> size = {}) {
    add(GET, "/streamed", [this, pieces, size](Request&) {
      return Response(std::make_unique<Pieces>(pieces, std::vector<Field>(), &source_reads_),
                      "text/plain", size);
    });
  }
  void open(std::string_view early = "") {
    connection_.emplace(transport_, context_, exchanges_,
                        make_session(GetParam(), context_.limits, exchanges_, context_.windows),
                        traits_);
    connection_->take(early, {});
    tasks_.start(connection_->run());
  }
  bool over() const { return tasks_.running() == 0; }
  // Advances the clock in steps of up to 5 s, each of which ends a read with ETIMEDOUT.
  void pass(std::int64_t ms) {
    constexpr std::int64_t step_ms = 5000;
    for (; ms > 0 && !over(); ms -= step_ms) {
      engine_.time_ms += std::min(ms, step_ms);
      transport_.fail(ETIMEDOUT);
    }
  }
  // Exchanges bytes until neither side has any to send.
  void settle() {
    for (;;) {
      const std::string to_server = client_.bytes();
      transport_.arrive(to_server);
      const std::string to_client = read_writes();
      client_.receive(to_client);
      if (to_server.empty() && to_client.empty()) break;
    }
  }
  std::string read_writes() {
    std::string all;
    while (seen_ < transport_.writes.size()) all += transport_.writes[seen_++];
    return all;
  }
  Nghttp2Client::Answer& answer(std::int32_t id) { return client_.answers[id]; }

  FakeEngine engine_;
  FakeTransport transport_{engine_};
  Router router_;
  Limits limits_;
  WorkerContext context_{router_, limits_};
  ConnectionTraits traits_;
  base::Pool<H2Exchange> exchanges_;
  coro::Event event_;
  std::vector<int> errors_;  // of read_all() in /echo
  int source_reads_ = 0;
  std::optional<Connection> connection_;
  TaskGroup tasks_;
  Nghttp2Client client_;
  std::size_t seen_ = 0;  // of transport_.writes, by read_writes()
};

}  // namespace h2server::http::h2
