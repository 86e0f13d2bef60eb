// Handlers that write while they read, over HTTP/1.1 under each scheme.
#include "h2server/exchange.h"

#include "server/exchange_fixture.h"

namespace h2server::tests {
namespace exchange_test {

std::string request(std::string_view method, std::string_view fields = "") {
  return std::string(method) + " / HTTP/1.1\r\nHost: test\r\n" + std::string(fields) + "\r\n";
}
const std::string post_chunked = request("POST", "Transfer-Encoding: chunked\r\n");
constexpr std::string_view ask_plain = "GET /plain HTTP/1.1\r\nHost: test\r\n\r\n";
constexpr std::string_view last_chunk = "0\r\n\r\n";

// Returns true if these bytes arrive next.
testing::AssertionResult arrives(Client& client, std::string_view bytes) {
  const std::string taken = client.take(bytes.size());
  if (taken == bytes) return testing::AssertionSuccess();
  return testing::AssertionFailure() << "got " << testing::PrintToString(taken);
}

class ExchangeHttp1 : public ExchangeFixture {};

INSTANTIATE_TEST_SUITE_P(Schemes, ExchangeHttp1, testing::ValuesIn(schemes),
                         [](const auto& row) { return scheme_name(row.param); });

TEST_P(ExchangeHttp1, EchoesWhileTheRequestArrives) {
  serve(echo);
  Client client(port_);
  for (int round = 0; round < 2; ++round) {
    client.send(post_chunked);
    EXPECT_TRUE(client.receive().says("Transfer-Encoding: chunked"));
    client.send("3\r\nabc\r\n");
    EXPECT_TRUE(arrives(client, "3\r\nabc\r\n"));
    client.send("2\r\nde\r\n");
    EXPECT_TRUE(arrives(client, "2\r\nde\r\n"));
    client.send(last_chunk);
    EXPECT_TRUE(arrives(client, "0\r\nsum: 5\r\n\r\n"));
    EXPECT_EQ(client.get("/plain").body, "plain") << "the connection goes on";
  }
}

TEST_P(ExchangeHttp1, TwoTasks) {
  if (!has_loop()) GTEST_SKIP() << "reads and writes in turn";
  serve(echo_by_two);
  Client client(port_);
  client.send(post_chunked);
  client.receive();
  client.send("3\r\nabc\r\n");
  EXPECT_TRUE(arrives(client, "5\r\n<abc>\r\n"));
  client.send("1\r\nd\r\n");
  EXPECT_TRUE(arrives(client, "3\r\n<d>\r\n"));
  client.send(last_chunk);
  EXPECT_TRUE(arrives(client, last_chunk));
  EXPECT_EQ(client.get("/plain").body, "plain");
}

TEST_P(ExchangeHttp1, TwoTasksWithTheWholeRequest) {
  serve(echo_by_two);
  Client client(port_);
  client.send(post_chunked + "3\r\nabc\r\n1\r\nd\r\n0\r\n\r\n");
  client.receive();
  EXPECT_TRUE(arrives(client, "5\r\n<abc>\r\n3\r\n<d>\r\n0\r\n\r\n"));
  EXPECT_EQ(client.get("/plain").body, "plain");
}

TEST_P(ExchangeHttp1, AnswersBeforeTheRequestsEnd) {
  serve(answer_unread);
  Client client(port_);
  client.send(request("POST", "Content-Length: 6\r\n"));
  client.receive();
  EXPECT_TRUE(arrives(client, "5\r\nearly\r\n0\r\n\r\n"));
  client.send("unread");
  EXPECT_EQ(client.get("/plain").body, "plain");
}

TEST_P(ExchangeHttp1, HeadHasNoContent) {
  serve(answer_unread);
  Client client(port_);
  client.send(request("HEAD"));
  EXPECT_EQ(client.receive().status, 200);
  EXPECT_EQ(client.get("/plain").body, "plain") << "nothing was sent in between";
}

TEST_P(ExchangeHttp1, HeadEndsAHandlerThatWritesForEver) {
  serve(flood);
  Client client(port_);
  client.send(request("HEAD"));
  EXPECT_EQ(client.receive().status, 200);
  ASSERT_TRUE(notes_.ended.wait());
  EXPECT_EQ(notes_.error, EPIPE);
  EXPECT_EQ(client.get("/plain").body, "plain");
}

TEST_P(ExchangeHttp1, OnlyOneTaskReads) {
  serve(read_twice);
  Client client(port_);
  client.send(request("POST", "Content-Length: 3\r\n"));
  client.send("abc");
  EXPECT_EQ(client.receive().status, 200);
  ASSERT_TRUE(notes_.ended.wait());
}

// What the handler left is dropped, and the connection goes on.
TEST_P(ExchangeHttp1, ABodyThatFollowsTheHandler) {
  serve(answer_unread);
  Client client(port_);
  client.send(post_chunked);
  EXPECT_EQ(client.receive().status, 200);
  EXPECT_TRUE(arrives(client, "5\r\nearly\r\n0\r\n\r\n"));
  client.send("5\r\nhello\r\n0\r\n\r\n");
  EXPECT_EQ(client.get("/plain").body, "plain");
}

TEST_P(ExchangeHttp1, TheResponseEndsBeforeTheHandler) {
  serve(finish_early);
  for (const std::string_view method : {"POST", "HEAD"}) {
    Client client(port_);
    client.send(request(method, "Content-Length: 3\r\n"));
    EXPECT_EQ(client.receive().status, 200);
    const bool has_body = method != "HEAD";
    EXPECT_TRUE(arrives(client, has_body ? "5\r\nbegun\r\n0\r\n\r\n" : ""));
    client.send("abc");
    ASSERT_TRUE(notes_.ended.wait());
    EXPECT_EQ(notes_.bytes, 3U);
    EXPECT_EQ(client.get("/plain").body, "plain");
  }
}

TEST_P(ExchangeHttp1, AMiddlewareReplacesTheResponse) {
  server_ = std::make_unique<Server>(cleartext(GetParam(), 2));
  server_->use([](Request&, Response& response) { response = Response(403, "replaced"); });
  server_->get("/", [this](Exchange& exchange) { return flood(exchange, notes_); });
  ASSERT_TRUE(server_->start());
  Client client(port_of(*server_));
  EXPECT_EQ(client.get("/").body, "replaced");
  ASSERT_TRUE(notes_.ended.wait());
  EXPECT_EQ(client.get("/").body, "replaced");
}

TEST_P(ExchangeHttp1, NoContentWhileTheRequestIsRead) {
  serve(count_after_204);
  Client client(port_);
  client.send(post_chunked + "3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n");
  EXPECT_EQ(client.receive().status, 204);
  ASSERT_TRUE(notes_.ended.wait());
  EXPECT_EQ(notes_.bytes, 5U);
  EXPECT_EQ(client.get("/plain").body, "plain");
}

TEST_P(ExchangeHttp1, ThrowsBeforeItsHead) {
  serve(throw_before);
  Client client(port_);
  client.send(request("GET"));
  EXPECT_EQ(client.receive().status, 500);
  EXPECT_EQ(client.get("/plain").body, "plain");
}

TEST_P(ExchangeHttp1, ThrowsAfterItsHead) {
  serve(throw_after);
  Client client(port_);
  client.send(request("GET"));
  EXPECT_EQ(client.receive().status, 200);
  EXPECT_EQ(client.take(1000), "5\r\nbegun\r\n") << "the body must look cut";
}

TEST_P(ExchangeHttp1, AnswersNothing) {
  serve(answer_nothing);
  Client client(port_);
  client.send(request("GET"));
  EXPECT_EQ(client.receive().status, 500);
  EXPECT_EQ(client.get("/plain").body, "plain");
}

TEST_P(ExchangeHttp1, ClientLeavesWhileTheHandlerReads) {
  serve(echo);
  {
    Client client(port_);
    client.send(post_chunked + "3\r\nabc\r\n");
    client.receive();
    EXPECT_TRUE(arrives(client, "3\r\nabc\r\n"));
  }
  ASSERT_TRUE(notes_.ended.wait());
  EXPECT_EQ(notes_.error, ECONNRESET);
  EXPECT_EQ(notes_.reason, StopReason::client_left);
}

TEST_P(ExchangeHttp1, ClientLeavesWhileTheHandlerWaits) {
  if (!has_loop()) GTEST_SKIP() << "a thread that waits does not see its client";
  serve(wait_long);
  {
    Client client(port_);
    client.send(request("POST", "Content-Length: 0\r\n"));
    client.receive();
  }
  ASSERT_TRUE(notes_.ended.wait());
  EXPECT_EQ(notes_.error, ECANCELED);
  EXPECT_EQ(notes_.reason, StopReason::client_left);
}

TEST_P(ExchangeHttp1, ClientLeavesWhileTheHandlerWrites) {
  serve(flood);
  {
    Client client(port_);
    client.send(request("GET"));
    client.receive();
  }
  ASSERT_TRUE(notes_.ended.wait());
  EXPECT_EQ(notes_.error, ECANCELED);
  EXPECT_EQ(notes_.reason, StopReason::client_left);
  EXPECT_LT(notes_.bytes, flood_pieces * flood_piece_bytes);
}

TEST_P(ExchangeHttp1, WritesWaitForTheClient) {
  serve(flood);
  Client client(port_);
  client.send(request("GET"));
  client.receive();
  constexpr std::size_t ahead_max = 32 << 20;  // buffers of both sockets, and the server's
  constexpr std::size_t step = 1 << 20;
  std::size_t received = 0;
  for (std::size_t got = step; got == step; received += got) {
    EXPECT_LE(notes_.bytes, received + ahead_max);
    got = client.take(received + step <= flood_pieces * flood_piece_bytes ? step : 0).size();
  }
  EXPECT_EQ(received, flood_pieces * flood_piece_bytes);
  ASSERT_TRUE(notes_.ended.wait());
  EXPECT_EQ(notes_.reason, StopReason::none);
}

TEST_P(ExchangeHttp1, FinishesAfterItsDeadline) {
  serve(finish_late);
  Client client(port_);
  client.send(request("GET", "deadline: yes\r\n"));
  client.receive();
  EXPECT_TRUE(arrives(client, "5\r\nbegun\r\n0\r\nend: late\r\n\r\n"));
  EXPECT_EQ(client.get("/plain").body, "plain");
  EXPECT_EQ(notes_.reason, StopReason::deadline);
}

TEST_P(ExchangeHttp1, IsCutAtItsDeadline) {
  serve(cut_late);
  Client client(port_);
  client.send(request("GET"));
  client.receive();
  EXPECT_EQ(client.take(1000), "5\r\nbegun\r\n") << "the body must look cut";
  EXPECT_EQ(notes_.reason, StopReason::deadline);
  EXPECT_EQ(notes_.error, ECANCELED);
}

TEST_P(ExchangeHttp1, ServerStops) {
  ServerOptions options = cleartext(GetParam(), 2);
  options.drain_limit = std::chrono::milliseconds(100);
  serve(finish_late, options);
  Client client(port_);
  client.send(request("GET"));
  client.receive();
  ASSERT_TRUE(notes_.entered.wait());
  server_->stop();
  EXPECT_TRUE(server_->wait()) << "nothing is left behind";
  EXPECT_EQ(notes_.reason, StopReason::server_stops);
}

TEST_P(ExchangeHttp1, MisuseThrows) {
  serve(misuse);
  Client client(port_);
  client.send(request("GET"));
  client.receive();
  EXPECT_TRUE(
      arrives(client, "21\r\n" + std::string(misuse_outcomes) + "\r\n0\r\nwhich: first\r\n\r\n"));
  EXPECT_EQ(client.get("/plain").body, "plain");
  EXPECT_EQ(notes_.error, 0);
}

TEST_P(ExchangeHttp1, TheNextRequestArrivesWhileTheHandlerWaits) {
  serve(gate);
  Client client(port_);
  client.send(post_chunked + "1\r\n1\r\n0\r\n\r\n");
  ASSERT_TRUE(notes_.entered.wait());
  client.send(std::string(ask_plain) + std::string(ask_plain).substr(0, 20));
  notes_.open = true;
  client.receive();
  EXPECT_TRUE(arrives(client, "5\r\ngate1\r\n0\r\n\r\n"));
  EXPECT_EQ(client.receive().body, "plain");
  client.send(ask_plain.substr(20));
  EXPECT_EQ(client.receive().body, "plain");
}

TEST_P(ExchangeHttp1, RequestsArriveTogether) {
  serve(gate);
  notes_.open = true;
  Client client(port_);
  client.send(post_chunked + "1\r\n1\r\n0\r\n\r\n" + post_chunked + "1\r\n2\r\n0\r\n\r\n" +
              std::string(ask_plain));
  client.receive();
  EXPECT_TRUE(arrives(client, "5\r\ngate1\r\n0\r\n\r\n"));
  client.receive();
  EXPECT_TRUE(arrives(client, "5\r\ngate2\r\n0\r\n\r\n"));
  EXPECT_EQ(client.receive().body, "plain");
}

TEST_P(ExchangeHttp1, ExpectationIsMetByTheFirstRead) {
  serve(gate);
  notes_.open = true;
  Client client(port_);
  client.send(request("POST", "Expect: 100-continue\r\nContent-Length: 3\r\n"));
  EXPECT_TRUE(arrives(client, "HTTP/1.1 100 Continue\r\n\r\n"));
  client.send("abc");
  client.receive();
  EXPECT_TRUE(arrives(client, "7\r\ngateabc\r\n0\r\n\r\n"));
  EXPECT_EQ(client.get("/plain").body, "plain");
}

TEST_P(ExchangeHttp1, ExpectationIsNotMetAfterTheHead) {
  serve(finish_early);
  Client client(port_);
  client.send(request("POST", "Expect: 100-continue\r\nContent-Length: 3\r\n"));
  EXPECT_TRUE(client.receive().says("Connection: close"));
  EXPECT_TRUE(arrives(client, "5\r\nbegun\r\n0\r\n\r\n"));
  client.send("abc");
  ASSERT_TRUE(notes_.ended.wait());
  EXPECT_EQ(notes_.bytes, 3U);
  EXPECT_TRUE(client.ends());
}

TEST_P(ExchangeHttp1, Version10EndsWithTheConnection) {
  serve(answer_unread);
  Client client(port_);
  client.send("GET / HTTP/1.0\r\n\r\n");
  EXPECT_TRUE(client.receive().says("Connection: close"));
  EXPECT_EQ(client.take(1000), "early");
}

}  // namespace exchange_test
}  // namespace h2server::tests
