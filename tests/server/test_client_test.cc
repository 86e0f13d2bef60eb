#include "h2server/test_client.h"

#include <gtest/gtest.h>

#include <stdexcept>
#include <string>
#include <thread>

#include "h2server/blocking.h"
#include "h2server/completion.h"
#include "h2server/exchange.h"
#include "h2server/timing.h"

namespace h2server {
namespace test_client_test {

using namespace std::chrono_literals;

class InProcess : public testing::Test {
 protected:
  Server server_;
};

TEST_F(InProcess, CallsRoutesWithFieldsAndBodies) {
  server_.get("/hello/{name}", [](Request& request) {
    return Response::text("hello " + std::string(request.param("name")))
        .add("X-Agent", request.field("user-agent").value_or("none"));
  });
  server_.post("/echo", [](Request& request) -> Task<Response> {
    Result<std::string> body = co_await request.read_all(1000);
    co_return Response::text(*std::move(body), 201);
  });
  TestClient client(server_);
  const TestResponse hello =
      client.send({.target = "/hello/a%20b?x=1", .fields = {{"user-agent", "test"}}});
  EXPECT_EQ(hello.status, 200);
  EXPECT_EQ(hello.body, "hello a b");
  EXPECT_EQ(hello.field("X-AGENT"), "test");
  EXPECT_TRUE(hello.complete);
  EXPECT_EQ(client.send({.method = POST, .target = "/echo", .body = "bytes"}).body, "bytes");
  EXPECT_EQ(client.send({.method = HEAD, .target = "/hello/x"}).body, "");
  EXPECT_EQ(client.get("/none").status, 404);
  const TestResponse refused = client.send({.method = DELETE, .target = "/echo"});
  EXPECT_EQ(refused.status, 405);
  EXPECT_EQ(refused.field("allow"), "POST, OPTIONS");
}

TEST_F(InProcess, HandlersMayWait) {
  server_.get("/sleep", [](Request&) -> Task<Response> {
    const Result<void> slept = co_await sleep_for(1ms);
    co_return Response(slept ? 200 : 503);
  });
  server_.get("/thread", [](Request&) -> Task<Response> {
    const Result<int> value = co_await run_blocking([] { return 7; });
    co_return Response::text(std::to_string(value.value()));
  });
  server_.get("/forever", [](Request&) -> Task<Response> {
    Completion<int> done;
    const Completer<int> never = done.completer();
    co_await done;
    co_return Response(200);
  });
  TestClient client(server_, 200ms);
  EXPECT_EQ(client.get("/sleep").status, 200);
  EXPECT_EQ(client.get("/thread").body, "7");
  EXPECT_THROW(static_cast<void>(client.get("/forever")), std::runtime_error);
  EXPECT_EQ(client.get("/sleep").status, 200) << "the client goes on";
}

TEST_F(InProcess, StreamsGoBothWays) {
  server_.post("/echo", [](Exchange& exchange) -> Task<void> {
    exchange.respond(Response(200));
    for (;;) {
      const Result<std::string_view> piece = co_await exchange.request().read();
      if (!piece || piece->empty()) break;
      const Result<void> written = co_await exchange.write("<" + std::string(*piece) + ">");
      if (!written) break;
    }
    exchange.finish({{"x-trailer", "end"}});
  });
  TestClient client(server_);
  TestExchange exchange = client.open({.method = POST, .target = "/echo"});
  EXPECT_EQ(exchange.head().status, 200) << "before the request has ended";
  for (const char* const piece : {"a", "b", "c"}) {
    exchange.write(piece);
    EXPECT_EQ(exchange.read(), "<" + std::string(piece) + ">");
  }
  const TestResponse response = exchange.rest();
  EXPECT_TRUE(response.complete);
  ASSERT_EQ(response.trailers.size(), 1U);
  EXPECT_EQ(response.trailers[0].value, "end");
}

TEST_F(InProcess, AClientThatLeavesStopsTheHandler) {
  std::string seen;
  server_.post("/", [&](Exchange& exchange) -> Task<void> {
    exchange.respond(Response(200));
    const Result<std::string_view> piece = co_await exchange.request().read();
    seen = piece ? "read" : piece.error().message();
    const Result<void> written = co_await exchange.write("x");
    seen += written ? ", written" : ", " + written.error().message();
  });
  TestClient client(server_);
  {
    TestExchange exchange = client.open({.method = POST});
    EXPECT_EQ(exchange.head().status, 200);
  }
  EXPECT_EQ(seen, "request body: Connection reset by peer, write: Operation canceled");
}

TEST_F(InProcess, AResponseThatIsAbortedIsIncomplete) {
  server_.get("/", [](Exchange& exchange) -> Task<void> {
    exchange.respond(Response(200));
    co_await exchange.write("half");
    throw std::runtime_error("in the middle");
  });
  TestClient client(server_);
  testing::internal::CaptureStderr();
  const TestResponse response = client.get("/");
  EXPECT_NE(testing::internal::GetCapturedStderr().find("in the middle"), std::string::npos);
  EXPECT_EQ(response.status, 200);
  EXPECT_FALSE(response.complete);
}

// The client's engine does not run between the calls, so its clock stands still.
TEST(TestClientTime, DoesNotCountWhatTheTestDoesMeanwhile) {
  Server server;
  server.get("/", [](Request&) -> Task<Response> {
    const Result<void> slept = co_await sleep_for(std::chrono::milliseconds(1));
    co_return Response(slept ? 204 : 500);
  });
  TestClient client(server, std::chrono::milliseconds(500));
  EXPECT_EQ(client.get("/").status, 204);
  std::this_thread::sleep_for(std::chrono::milliseconds(600));
  EXPECT_EQ(client.get("/").status, 204);
}

}  // namespace test_client_test
}  // namespace h2server
