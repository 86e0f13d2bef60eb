// TestClient: calls the routes of a Server in process, without sockets and threads, for tests.
//
//   TestClient client(server);
//   EXPECT_EQ(client.get("/notes/1").body, "milk");
//
// Requests run through routing, middleware and handlers as those of a worker do; the waits of
// handlers work. What a protocol does (limits, framing, dates) is not there.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "h2server/message.h"
#include "h2server/response.h"
#include "h2server/server.h"

#pragma GCC visibility push(default)
namespace h2server {

struct TestRequest {
  Method method = GET;
  std::string target = "/";
  std::vector<Response::Line> fields = {};
  std::string body = {};
  Version version = Version::http_2;
  std::string authority = "localhost";
};

struct TestResponse {
  int status = 0;
  std::vector<Response::Line> fields;  // those of the handler and the middleware
  std::string body;
  std::vector<Response::Line> trailers;
  bool complete = false;  // false: the server would have aborted the response

  // Returns the value of the first field line with that name.
  [[nodiscard]] std::optional<std::string_view> field(std::string_view name) const noexcept;
};

class TestClient;

// An exchange under way: the request is sent and the response is received piece by piece.
class TestExchange {
 public:
  TestExchange(TestExchange&&) noexcept;
  TestExchange& operator=(TestExchange&&) = delete;
  // The client leaves: the handler's token stops. Waits for the handler's end; aborts the process
  // if that takes longer than the client's patience.
  ~TestExchange();

  // Sends a piece of the request's body.
  void write(std::string piece);
  // Ends the request's body.
  void finish(std::vector<Response::Line> trailers = {});
  // Waits for the head of the response. Throws std::runtime_error after the client's patience.
  [[nodiscard]] const TestResponse& head();
  // Waits for the next piece of the response's body; empty at its end.
  [[nodiscard]] std::string read();
  // Ends the request, and waits for the rest of the response.
  [[nodiscard]] TestResponse rest();

 private:
  friend class TestClient;
  struct State;
  explicit TestExchange(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

// One thread. The server must not run, and must outlive the client.
class TestClient {
 public:
  // `patience` is how long to wait for something of a handler, before std::runtime_error is thrown.
  // Also throws that if the server's options are wrong, and std::logic_error if the server runs.
  explicit TestClient(Server& server,
                      std::chrono::milliseconds patience = std::chrono::seconds(10));
  TestClient(const TestClient&) = delete;
  TestClient& operator=(const TestClient&) = delete;
  // Its exchanges must have been destroyed.
  ~TestClient();

  [[nodiscard]] TestResponse send(TestRequest request);
  [[nodiscard]] TestResponse get(std::string target) { return send({.target = std::move(target)}); }
  // Begins an exchange whose request has no end yet.
  [[nodiscard]] TestExchange open(TestRequest request);

 private:
  friend class TestExchange;
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace h2server
#pragma GCC visibility pop
