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

#include "http/h2/connection.h"
#include "http/h2/nghttp2_client.h"
#include "http/h2/session_host.h"

namespace h2server::http::h2 {

// Provides the time and buffers; does no I/O.
class FakeEngine final : public io::Engine {
 public:
  bool start(io::Op&) override { return false; }
  void cancel(io::Op&) override {}
  void cancel_all() override {}
  void run() override {}
  void stop() noexcept override {}
  void wake() noexcept override {}
  io::Lease borrow() override {
    return {*this, std::make_unique<char[]>(buffer_bytes).release(), buffer_bytes};
  }
  void take_back(char* buffer) noexcept override { std::unique_ptr<char[]> owned(buffer); }
  std::int64_t now_ms() const noexcept override { return time_ms; }
  std::int64_t unix_seconds() const noexcept override { return 784111777; }

  std::int64_t time_ms = 1'000'000;
  static constexpr std::size_t buffer_bytes = 64 * 1024;

 private:
  void forget(io::Socket&) noexcept override {}
};

// Reads return what the test passes to arrive(), end() and fail(); each write is recorded.
class FakeTransport final : public net::Transport {
 public:
  explicit FakeTransport(FakeEngine& engine) : engine_(engine) {}

  void arrive(std::string_view bytes) {
    for (; !bytes.empty(); bytes.remove_prefix(std::min(bytes.size(), engine_.buffer_bytes))) {
      add({std::string(bytes.substr(0, engine_.buffer_bytes)), 0});
    }
  }
  void end() { add({}); }
  void fail(int error) { add({{}, error}); }
  void cancel_read() override {
    if (arrived_.awaited()) fail(ECANCELED);
  }

  net::Read read(std::uint32_t timeout_ms) override { return wait(timeout_ms); }
  Task<Result<void>> write(base::BufferChain& bytes, base::Pace&) override {
    if (write_error != 0) co_return std::unexpected(Error{write_error, "write"});
    if (takes_nothing) co_await takes.wait();
    writes.emplace_back();
    for (; !bytes.empty(); bytes.consume(bytes.front().size())) writes.back() += bytes.front();
    co_return {};
  }
  Task<void> finish(std::uint32_t) override {
    finished = true;
    co_return;
  }
  bool bytes_go_to_kernel() const noexcept override { return true; }
  io::Engine& engine() const noexcept override { return engine_; }
  void move_to(io::Engine&) noexcept override {}

  std::vector<std::string> writes;
  int write_error = 0;
  bool takes_nothing = false;  // writes wait for `takes`
  coro::Event takes;
  bool finished = false;

 private:
  Task<Result<io::Lease>> wait(std::uint32_t) {
    if (reads_.empty()) co_await arrived_.wait();
    const Read read = reads_.front();
    if (!read.bytes.empty() || read.error != 0) reads_.pop_front();
    if (read.error != 0) co_return std::unexpected(Error{read.error, "read"});
    io::Lease lease = engine_.borrow();
    std::ranges::copy(read.bytes, lease.room().begin());
    lease.set_size(read.bytes.size());
    co_return std::move(lease);
  }

  struct Read {
    std::string bytes;  // empty without an error: end of stream, for all later reads
    int error = 0;
  };
  void add(Read read) {
    reads_.push_back(std::move(read));
    if (arrived_.awaited()) arrived_.set();
  }

  FakeEngine& engine_;
  std::deque<Read> reads_;
  coro::Event arrived_;
};

struct Pieces final : BodySource {
  Pieces(std::vector<std::string> list, int& counter) : pieces(std::move(list)), reads(counter) {}
  Task<Result<std::string_view>> read() override {
    ++reads;
    if (next == pieces.size()) co_return std::string_view();
    if (pieces[next] == "throw") throw std::runtime_error("source");
    if (pieces[next] == "fail") co_return std::unexpected(Error{EIO, "source"});
    co_return std::string_view(pieces[next++]);
  }
  std::vector<std::string> pieces;
  std::size_t next = 0;
  int& reads;
};

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
      return Response(std::make_unique<Pieces>(pieces, source_reads_), "text/plain", size);
    });
  }
  void open(std::string_view early = "") {
    connection_.emplace(transport_, context_, exchanges_, GetParam(), false);
    connection_->take(early);
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
  ServerContext context_{router_, limits_};
  base::Pool<H2Exchange> exchanges_;
  coro::Event event_;
  std::vector<int> errors_;  // of read_all() in /echo
  int source_reads_ = 0;
  std::optional<Connection> connection_;
  coro::TaskGroup tasks_;
  Nghttp2Client client_;
  std::size_t seen_ = 0;  // of transport_.writes, by read_writes()
};

}  // namespace h2server::http::h2
