#include "http/h1/connection.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cerrno>
#include <deque>
#include <stdexcept>
#include <string>
#include <vector>

#include "coro/event.h"
#include "h2server/task_group.h"
#include "http/echo_source.h"
#include "http/fake_transport.h"

namespace h2server::http::h1 {
namespace connection_test {

Response streamed(std::vector<std::string> pieces, std::optional<std::uint64_t> size = {}) {
  return {std::make_unique<Pieces>(std::move(pieces)), "text/plain; charset=utf-8", size};
}

std::string get(const std::string& path, const std::string& fields = "") {
  return "GET " + path + " HTTP/1.1\r\nHost: a\r\n" + fields + "\r\n";
}

std::string post(const std::string& path, const std::string& fields, const std::string& body) {
  return "POST " + path + " HTTP/1.1\r\nHost: a\r\n" + fields + "\r\n" + body;
}

const std::string type = "Content-Type: text/plain; charset=utf-8\r\n";
const std::string date = "Date: Sun, 06 Nov 1994 08:49:37 GMT\r\n";
const std::string closes = "Connection: close\r\n";
const std::string keeps = "Connection: keep-alive\r\n";

// A 200 response with a text body. `connection` is the line of the Connection field.
std::string ok(const std::string& body, const std::string& connection = "") {
  return "HTTP/1.1 200 OK\r\nServer: h2server\r\nContent-Length: " + std::to_string(body.size()) +
         "\r\n" + type + date + connection + "\r\n" + body;
}

std::string chunked_head() {
  return "HTTP/1.1 200 OK\r\nServer: h2server\r\nTransfer-Encoding: chunked\r\n" + type + date +
         "\r\n";
}

class H1Connection : public testing::Test {
 protected:
  H1Connection() {
    add(GET, "/hello", [](Request&) { return Response(200, "hello"); });
    add(GET, "/large", [](Request&) { return Response(200, std::string(300'000, 'x')); });
    add(GET, "/throw", [](Request&) -> Response { throw std::runtime_error("plain"); });
    add(POST, "/ignore", [](Request&) { return Response(200, "ignored"); });
    add(GET, "/throw_later", [this](Request&) -> Task<Response> {
      co_await event_.wait();
      throw 42;
    });
    add(GET, "/wait", [this](Request&) -> Task<Response> {
      co_await event_.wait();
      co_return Response(200, "waited");
    });
    add(POST, "/echo", [this](Request& request) -> Task<Response> {
      const Result<std::string> body = co_await request.read_all(1'000'000);
      if (!body) body_error_ = body.error().code;
      co_return Response(200, body ? *body : "broken");
    });
  }
  ~H1Connection() override { EXPECT_EQ(tasks_.running(), 0U); }

  void add(Method method, const char* path, Handler handler) {
    ASSERT_TRUE(router_.add(method, path, std::move(handler)).has_value());
  }
  void add_streamed(std::vector<std::string> pieces, std::optional<std::uint64_t> size = {}) {
    add(GET, "/streamed", [pieces, size](Request&) { return streamed(pieces, size); });
  }
  void open(std::string early = "") {
    connection_.emplace(transport_, context_, exchanges_, ConnectionTraits(), std::move(early),
                        io::Lease());
    tasks_.start(connection_->run());
  }
  bool over() const { return tasks_.running() == 0; }
  // Returns all writes, joined.
  std::string written() const {
    std::string all;
    for (const std::string& write : transport_.writes) all += write;
    return all;
  }
  // Sends `bytes` and the end over a new connection. Returns what was written.
  std::string answer_to(const std::string& bytes) {
    transport_.arrive(bytes);
    transport_.end();
    open();
    EXPECT_TRUE(over());
    return written();
  }

  FakeEngine engine_;
  FakeTransport transport_{engine_};
  Router router_;
  Limits limits_;
  WorkerContext context_{router_, limits_};
  coro::Event event_;
  int body_error_ = 0;
  base::Pool<H1Exchange> exchanges_;
  std::optional<Connection> connection_;
  TaskGroup tasks_;
};

// --- requests ---------------------------------------------------------------------------------

TEST_F(H1Connection, AnswersOneRequestAfterTheOther) {
  open();
  for (std::size_t i = 1; i <= 3; ++i) {
    transport_.arrive(get("/hello"));
    ASSERT_EQ(transport_.writes.size(), i);
    EXPECT_EQ(transport_.writes.back(), ok("hello"));
  }
  transport_.end();
  EXPECT_TRUE(over());
  EXPECT_TRUE(transport_.finished);
}

TEST_F(H1Connection, AnswersWhatCameTogetherInOneWrite) {
  EXPECT_EQ(answer_to(get("/hello") + get("/hello?a=b") + get("/hello")),
            ok("hello") + ok("hello") + ok("hello"));
  EXPECT_EQ(transport_.writes.size(), 1U);
}

TEST_F(H1Connection, AnswersRequestsThatComeByteByByte) {
  open();
  for (const char c :
       get("/hello") + "\r\n" + post("/echo", "Content-Length: 3\r\n", "abc") + get("/hello")) {
    transport_.arrive({&c, 1});
  }
  EXPECT_EQ(written(), ok("hello") + ok("abc") + ok("hello"));
  transport_.end();
}

TEST_F(H1Connection, AnswersRequestsCutAnywhere) {
  const std::string bytes =
      get("/hello") + post("/echo", "Content-Length: 3\r\n", "abc") +
      post("/ignore", "Transfer-Encoding: chunked\r\n", "2;x\r\nab\r\n0\r\nT: u\r\n\r\n") +
      get("/hello");
  for (std::size_t cut = 1; cut < bytes.size(); ++cut) {
    FakeTransport transport(engine_);
    TaskGroup tasks;
    Connection connection(transport, context_, exchanges_, {}, "", {});
    tasks.start(connection.run());
    transport.arrive(bytes.substr(0, cut));
    transport.arrive(bytes.substr(cut));
    transport.end();
    std::string all;
    for (const std::string& write : transport.writes) all += write;
    EXPECT_EQ(all, ok("hello") + ok("abc") + ok("ignored") + ok("hello")) << "cut at " << cut;
    EXPECT_EQ(tasks.running(), 0U);
  }
}

TEST_F(H1Connection, BeginsWithWhatWasReadEarlier) {
  transport_.arrive("I * HTTP/1.1\r\nHost: a\r\n\r\n" + get("/hello"));
  transport_.end();
  open("PR");
  EXPECT_TRUE(written().starts_with("HTTP/1.1 501 Not Implemented\r\n")) << written();
  EXPECT_TRUE(written().ends_with(ok("hello")));
}

TEST_F(H1Connection, AnswersHeadWithoutTheBody) {
  EXPECT_EQ(answer_to("HEAD /hello HTTP/1.1\r\nHost: a\r\n\r\n" + get("/hello")),
            ok("hello").substr(0, ok("hello").size() - 5) + ok("hello"));
}

struct Refusal {
  std::string request;
  std::string status;
  std::string field;  // contained in the answer
  bool stays;
};

TEST_F(H1Connection, AnswersByItselfWhatNoHandlerDoes) {
  const std::vector<Refusal> refusals = {
      {get("/nothing"), "404 Not Found", "", true},
      {post("/hello", "", ""), "405 Method Not Allowed", "Allow: GET, HEAD, OPTIONS\r\n", true},
      {"OPTIONS /hello HTTP/1.1\r\nHost: a\r\n\r\n", "204 No Content",
       "Allow: GET, HEAD, OPTIONS\r\n", true},
      {std::string(4000, 'M') + " / HTTP/1.1\r\nHost: a\r\n\r\n", "501 Not Implemented", "", true},
      {"BREW /hello HTTP/1.1\r\nHost: a\r\n\r\n", "501 Not Implemented", "", true},
      {"OPTIONS * HTTP/1.1\r\nHost: a\r\n\r\n", "204 No Content", "", true},
      {get("/../etc"), "400 Bad Request", "", true},
      {"nonsense\r\n", "400 Bad Request", closes, false},
      {get("/" + std::string(9000, 'x')), "414 URI Too Long", closes, false},
      {get("/hello", "Transfer-Encoding: gzip\r\n"), "501 Not Implemented", closes, false},
  };
  for (const Refusal& row : refusals) {
    FakeTransport transport(engine_);
    TaskGroup tasks;
    Connection connection(transport, context_, exchanges_, {}, "", {});
    transport.arrive(get("/hello") + row.request + get("/hello"));
    transport.end();
    tasks.start(connection.run());
    ASSERT_EQ(transport.writes.size(), 1U);
    const std::string answer = transport.writes[0].substr(ok("hello").size());
    EXPECT_TRUE(answer.starts_with("HTTP/1.1 " + row.status + "\r\n")) << answer;
    EXPECT_NE(answer.find(row.field), std::string::npos) << answer;
    EXPECT_EQ(answer.ends_with(ok("hello")), row.stays) << row.request;
    EXPECT_EQ(answer.find(closes) == std::string::npos, row.stays) << row.request;
    EXPECT_TRUE(transport.finished);
    EXPECT_EQ(tasks.running(), 0U);
  }
}

TEST_F(H1Connection, EndsWithoutAWordWhatIsNoHttp) {
  EXPECT_EQ(answer_to(get("/hello") + "PRI * SMTP/1.1\r\n"), ok("hello"));
  EXPECT_TRUE(transport_.finished);
}

TEST_F(H1Connection, ReadsOnAfterARefusalSoThatThePeerCanReadIt) {
  open();
  transport_.arrive("nonsense\r\n");
  EXPECT_TRUE(transport_.finished && !over());
  transport_.arrive("more of it");
  EXPECT_EQ(transport_.timeouts.back(), limits_.linger_ms_max);
  engine_.time_ms += limits_.linger_ms_max;
  transport_.arrive("and more");
  EXPECT_TRUE(over());
  EXPECT_EQ(transport_.writes.size(), 1U);
}

TEST_F(H1Connection, ClosesWhenTheClientAsksForIt) {
  EXPECT_EQ(answer_to(get("/hello", closes) + get("/hello")), ok("hello", closes));
  EXPECT_TRUE(transport_.finished);
}

TEST_F(H1Connection, SpeaksHttp10) {
  open();
  transport_.arrive("GET /hello HTTP/1.0\r\n" + keeps + "\r\n");
  EXPECT_EQ(written(), ok("hello", keeps));
  EXPECT_FALSE(over());
  transport_.arrive("GET /hello HTTP/1.0\r\n\r\n");
  EXPECT_EQ(transport_.writes[1], ok("hello", closes));
  EXPECT_TRUE(over());
}

// --- handlers ---------------------------------------------------------------------------------

TEST_F(H1Connection, AHandlerThatWaitsHoldsUpThoseBehindItOnly) {
  open();
  transport_.arrive(get("/hello") + get("/wait") + get("/hello"));
  EXPECT_EQ(written(), ok("hello"));
  event_.set();
  EXPECT_EQ(written(), ok("hello") + ok("waited") + ok("hello"));
  EXPECT_EQ(transport_.writes.size(), 2U);
  transport_.end();
}

TEST_F(H1Connection, WhatAHandlerThrowsBecomes500AndTheConnectionStays) {
  testing::internal::CaptureStderr();
  open();
  transport_.arrive(get("/throw") + get("/throw_later"));
  event_.set();
  transport_.arrive(get("/hello"));
  const std::string log = testing::internal::GetCapturedStderr();
  ASSERT_EQ(transport_.writes.size(), 3U);
  EXPECT_TRUE(transport_.writes[0].starts_with("HTTP/1.1 500 Internal Server Error\r\n"));
  EXPECT_TRUE(transport_.writes[1].starts_with("HTTP/1.1 500 Internal Server Error\r\n"));
  EXPECT_EQ(transport_.writes[2], ok("hello"));
  EXPECT_NE(log.find("GET /throw failed: plain"), std::string::npos) << log;
  transport_.end();
}

// --- deadlines, draining, failures -------------------------------------------------------------

TEST_F(H1Connection, GivesAHeadOneDeadlineHoweverItComes) {
  open();
  EXPECT_EQ(transport_.timeouts.back(), limits_.idle_ms_max);
  transport_.arrive("GET ");
  EXPECT_EQ(transport_.timeouts.back(), limits_.head_ms_max);
  engine_.time_ms += 10'000;
  transport_.arrive("/hello");
  EXPECT_EQ(transport_.timeouts.back(), limits_.head_ms_max - 10'000);
  engine_.time_ms += 10'000;
  transport_.arrive(" ");
  EXPECT_TRUE(written().starts_with("HTTP/1.1 408 Request Timeout\r\n")) << written();
  EXPECT_TRUE(transport_.finished);
  transport_.end();
}

TEST_F(H1Connection, GivesTheNextHeadADeadlineOfItsOwn) {
  open();
  transport_.arrive("GET ");
  engine_.time_ms += 10'000;
  transport_.arrive("/hello HTTP/1.1\r\nHost: a\r\n\r\nGET");
  EXPECT_EQ(written(), ok("hello"));
  EXPECT_EQ(transport_.timeouts.back(), limits_.head_ms_max);
  transport_.end();
  EXPECT_EQ(transport_.writes.size(), 1U);  // an incomplete request is not answered
}

TEST_F(H1Connection, ClosesAnIdleConnectionWithoutAWord) {
  transport_.fail(ETIMEDOUT);
  open();
  EXPECT_TRUE(over() && transport_.finished && transport_.writes.empty());
}

TEST_F(H1Connection, ClosesAfterSoManyRequests) {
  limits_.requests_per_connection = 2;
  EXPECT_EQ(
      answer_to(get("/hello") + post("/echo", "Content-Length: 3\r\n", "abc") + get("/hello")),
      ok("hello") + ok("abc", closes));
}

TEST_F(H1Connection, MayCloseAfterEachRequest) {
  limits_.requests_per_connection = 1;
  open();
  transport_.arrive(get("/wait"));
  EXPECT_FALSE(over());
  event_.set();
  EXPECT_EQ(written(), ok("waited", closes));
  EXPECT_TRUE(over() && transport_.finished);
}

TEST_F(H1Connection, DrainingEndsAnIdleConnectionAtOnce) {
  open();
  transport_.arrive(get("/hello"));
  context_.connections.drain();
  EXPECT_TRUE(over() && transport_.finished);
}

TEST_F(H1Connection, DrainingLetsAnExchangeEnd) {
  open();
  transport_.arrive(get("/wait"));
  context_.connections.drain();
  EXPECT_FALSE(over());
  event_.set();
  EXPECT_EQ(written(), ok("waited", closes));
  EXPECT_TRUE(over());
}

TEST_F(H1Connection, DrainingLetsAHeadArrive) {
  open();
  transport_.arrive("GET /hello HTTP/1.1\r\n");
  context_.connections.drain();
  EXPECT_FALSE(over());
  transport_.arrive("Host: a\r\n\r\n" + get("/hello"));
  EXPECT_EQ(written(), ok("hello", closes));
  EXPECT_TRUE(transport_.finished);
  EXPECT_FALSE(over()) << "more may follow, and must not reset the answer";
  transport_.end();
  EXPECT_TRUE(over());
}

TEST_F(H1Connection, EndsWhenNothingCanBeWritten) {
  transport_.write_error = EPIPE;
  open();
  transport_.arrive(get("/wait") + get("/hello"));
  event_.set();
  EXPECT_TRUE(over());
  EXPECT_FALSE(transport_.finished);
}

TEST_F(H1Connection, HoldsNoMoreOutputThanItsLimit) {
  limits_.output_bytes_max = 1000;
  const std::string large = ok(std::string(300'000, 'x'));
  EXPECT_EQ(answer_to(get("/large") + get("/large") + get("/hello")), large + large + ok("hello"));
  for (const std::string& write : transport_.writes) EXPECT_LE(write.size(), 2000U);
}

// --- bodies of requests -----------------------------------------------------------------------

TEST_F(H1Connection, HandsOverAChunkedBodyAsItComes) {
  open();
  transport_.arrive(post("/echo", "Transfer-Encoding: chunked\r\n", "3\r\nab"));
  transport_.arrive("c\r\n2\r\nde\r\n");
  EXPECT_TRUE(transport_.writes.empty());
  transport_.arrive("0\r\n\r\n" + get("/hello"));
  EXPECT_EQ(written(), ok("abcde") + ok("hello"));
  transport_.end();
}

// Each request has its own trailers, available once its body has been read to the end.
TEST_F(H1Connection, HandsOverTheTrailersOfAChunkedBody) {
  add(POST, "/trailers", [](Request& request) -> Task<Response> {
    std::string seen = std::to_string(request.trailers().size());
    const Result<std::string> body = co_await request.read_all(100);
    for (const Field& field : request.trailers()) {
      seen.append(field.name).append("=").append(field.value).append(";");
    }
    co_return Response(200, body ? seen : "broken");
  });
  const std::string bytes = post("/trailers", "Transfer-Encoding: chunked\r\n",
                                 "3\r\nabc\r\n0\r\nSum:  6 \r\nContent-Length: 7\r\nX:\r\n\r\n") +
                            post("/ignore", "Transfer-Encoding: chunked\r\n", "0\r\nA: b\r\n\r\n") +
                            post("/trailers", "Transfer-Encoding: chunked\r\n", "0\r\n\r\n") +
                            post("/trailers", "Content-Length: 1\r\n", "a");
  const std::string answers = ok("0sum=6;x=;") + ok("ignored") + ok("0") + ok("0");
  EXPECT_EQ(answer_to(bytes), answers);
  FakeTransport slow(engine_);
  Connection connection(slow, context_, exchanges_, {}, "", {});
  tasks_.start(connection.run());
  for (const char c : bytes) slow.arrive({&c, 1});
  slow.end();
  std::string all;
  for (const std::string& write : slow.writes) all += write;
  EXPECT_EQ(all, answers);
}

TEST_F(H1Connection, SendsTheTrailersOfASourceBehindTheLastChunk) {
  const auto handler = [](std::optional<std::uint64_t> size) {
    return [size](Request&) {
      std::vector<Field> trailers = {{"Sum", "6"}, {"Content-Length", "3"}, {"bad name", ""}};
      return Response(
          std::make_unique<Pieces>(std::vector<std::string>{"abc"}, std::move(trailers)),
          "text/plain; charset=utf-8", size);
    };
  };
  add(GET, "/trailers", handler({}));
  add(GET, "/sized", handler(3));
  const std::string head = "HEAD /trailers HTTP/1.1\r\nHost: a\r\n\r\n";
  EXPECT_EQ(answer_to(get("/trailers") + head + get("/sized") + "GET /trailers HTTP/1.0\r\n\r\n"),
            chunked_head() + "3\r\nabc\r\n0\r\nsum: 6\r\n\r\n" + chunked_head() + ok("abc") +
                "HTTP/1.1 200 OK\r\nServer: h2server\r\n" + type + date + closes + "\r\nabc");
}

TEST_F(H1Connection, SendsNoContentWith205) {
  add(GET, "/reset", [](Request&) { return Response(205, "text"); });
  const std::string answer = answer_to(get("/reset") + get("/hello"));
  EXPECT_TRUE(answer.starts_with("HTTP/1.1 205 Reset Content\r\n")) << answer;
  EXPECT_TRUE(answer.ends_with("\r\n\r\n" + ok("hello"))) << answer;
  EXPECT_EQ(answer.find("text\r\n"), std::string::npos);
}

TEST_F(H1Connection, DropsABodyThatNobodyReads) {
  open();
  transport_.arrive(post("/ignore", "Content-Length: 5\r\n", "ab"));
  EXPECT_EQ(written(), ok("ignored"));
  transport_.arrive("cde" + get("/hello"));
  EXPECT_EQ(written(), ok("ignored") + ok("hello"));
  transport_.end();
}

TEST_F(H1Connection, ClosesRatherThanDropMuch) {
  limits_.drain_bytes_max = 10;
  open();
  transport_.arrive(post("/ignore", "Content-Length: 11\r\n", ""));
  EXPECT_EQ(written(), ok("ignored", closes));
  EXPECT_TRUE(transport_.finished && !over());
  transport_.end();
  EXPECT_TRUE(over());
}

TEST_F(H1Connection, ClosesWhenAChunkedBodyTurnsOutLong) {
  limits_.drain_bytes_max = 10;
  open();
  transport_.arrive(post("/ignore", "Transfer-Encoding: chunked\r\n", "6\r\nabcdef\r\n"));
  EXPECT_EQ(written(), ok("ignored"));
  EXPECT_FALSE(transport_.finished);
  transport_.arrive("6\r\nabcdef\r\n0\r\n\r\n" + get("/hello"));
  EXPECT_TRUE(transport_.finished);
  transport_.end();
  EXPECT_EQ(written(), ok("ignored"));
}

constexpr const char* expects = "Expect: 100-continue\r\nContent-Length: 3\r\n";

TEST_F(H1Connection, AsksForABodyThatIsHeldBack) {
  open();
  transport_.arrive(post("/echo", expects, ""));
  EXPECT_EQ(written(), "HTTP/1.1 100 Continue\r\n\r\n");
  transport_.arrive("abc" + get("/hello"));
  EXPECT_EQ(written(), "HTTP/1.1 100 Continue\r\n\r\n" + ok("abc") + ok("hello"));
  transport_.end();
}

TEST_F(H1Connection, SendsInterimResponses) {
  add(POST, "/informs", [](Request& request) -> Task<Response> {
    const Field place{"Location", "/uploads/1"};
    request.send_interim(104, {&place, 1});
    const Result<std::string> body = co_await request.read_all(100);
    EXPECT_THROW(request.send_interim(101), std::invalid_argument);
    EXPECT_THROW(request.send_interim(200), std::invalid_argument);
    const Field bad{"Location", "a\r\nb"};
    EXPECT_THROW(request.send_interim(104, {&bad, 1}), std::invalid_argument);
    co_return Response(200, body ? *body : "broken");
  });
  open();
  transport_.arrive(post("/informs", expects, ""));
  const std::string interim =
      "HTTP/1.1 104 Upload Resumption Supported\r\nLocation: /uploads/1\r\n\r\n";
  EXPECT_EQ(written(), interim + "HTTP/1.1 100 Continue\r\n\r\n");
  transport_.arrive("abc");
  EXPECT_EQ(written(), interim + "HTTP/1.1 100 Continue\r\n\r\n" + ok("abc"));
  transport_.arrive("POST /informs HTTP/1.0\r\nContent-Length: 1\r\n\r\na");
  EXPECT_EQ(written().find("104", written().find("abc")), std::string::npos);
  transport_.end();
}

TEST_F(H1Connection, GivesUpWhenItCannotAskForABody) {
  transport_.write_error = EPIPE;
  open();
  transport_.arrive(post("/echo", expects, ""));
  EXPECT_EQ(body_error_, ECONNRESET);
  EXPECT_TRUE(over());
  EXPECT_EQ(transport_.timeouts.size(), 1U);  // nothing is read after an error
}

TEST_F(H1Connection, DoesNotAskForABodyThatIsThere) {
  EXPECT_EQ(answer_to(post("/echo", expects, "abc")), ok("abc"));
}

TEST_F(H1Connection, DoesNotAskForABodyThatNobodyReads) {
  EXPECT_EQ(answer_to(post("/ignore", expects, "")), ok("ignored", closes));
}

struct Broken {
  const char* what;
  std::string bytes;
  int read_error;  // of the next read; 0: end of stream
  int error;       // that the handler gets
};

TEST_F(H1Connection, ABrokenBodyIsTheEndAndTheResponseSaysSo) {
  const std::vector<Broken> table = {
      {"malformed", "3\r\nabcX", 0, EPROTO},
      {"cut off", "3\r\nab", 0, ECONNRESET},
      {"too slow", "3\r\nab", ETIMEDOUT, ETIMEDOUT},
  };
  for (const Broken& row : table) {
    SCOPED_TRACE(row.what);
    FakeTransport transport(engine_);
    TaskGroup tasks;
    Connection connection(transport, context_, exchanges_, {}, "", {});
    tasks.start(connection.run());
    transport.arrive(post("/echo", "Transfer-Encoding: chunked\r\n", row.bytes));
    if (row.read_error != 0) transport.fail(row.read_error);
    transport.end();
    EXPECT_EQ(body_error_, row.error);
    ASSERT_EQ(transport.writes.size(), 1U);
    EXPECT_EQ(transport.writes[0], ok("broken", closes));
    EXPECT_TRUE(transport.finished);
    EXPECT_EQ(tasks.running(), 0U);
  }
}

// --- bodies of responses ----------------------------------------------------------------------

TEST_F(H1Connection, StreamsInChunks) {
  add_streamed({"abc", std::string(20, 'x'), "d"});
  EXPECT_EQ(answer_to(get("/streamed") + get("/hello")),
            chunked_head() + "3\r\nabc\r\n14\r\n" + std::string(20, 'x') +
                "\r\n1\r\nd\r\n0\r\n\r\n" + ok("hello"));
}

TEST_F(H1Connection, StreamsToHttp10UntilTheEnd) {
  add_streamed({"abc", "d"});
  EXPECT_EQ(answer_to("GET /streamed HTTP/1.0\r\n" + keeps + "\r\n"),
            "HTTP/1.1 200 OK\r\nServer: h2server\r\n" + type + date + closes + "\r\nabcd");
  EXPECT_TRUE(transport_.finished);
}

TEST_F(H1Connection, StreamsNoBodyForHead) {
  add_streamed({"throw"});
  EXPECT_EQ(answer_to("HEAD /streamed HTTP/1.1\r\nHost: a\r\n\r\n" + get("/hello")),
            chunked_head() + ok("hello"));
}

TEST_F(H1Connection, StreamsByLength) {
  add_streamed({"ab", "cde"}, 5);
  EXPECT_EQ(answer_to(get("/streamed") + get("/hello")), ok("abcde") + ok("hello"));
}

TEST_F(H1Connection, AStreamThatGoesWrongIsCutOff) {
  struct Row {
    std::vector<std::string> pieces;
    std::optional<std::uint64_t> size;
  };
  const std::vector<Row> table = {
      {{"abc", "fail"}, std::nullopt},
      {{"abc", "throw"}, std::nullopt},
      {{"abc", "de"}, 4},
      {{"abc"}, 4},
      {{"abc", "fail"}, 4},
  };
  testing::internal::CaptureStderr();
  for (const Row& row : table) {
    Router router;
    ASSERT_TRUE(router.add(GET, "/", [&](Request&) { return streamed(row.pieces, row.size); }));
    WorkerContext context{router, limits_};
    FakeTransport transport(engine_);
    TaskGroup tasks;
    Connection connection(transport, context, exchanges_, {}, "", {});
    transport.arrive(get("/") + get("/"));
    tasks.start(connection.run());
    EXPECT_EQ(tasks.running(), 0U);
    EXPECT_FALSE(transport.finished);  // no orderly close, which would look like the body's end
    std::string all;
    for (const std::string& write : transport.writes) all += write;
    EXPECT_TRUE(all.find("\r\n\r\n") != std::string::npos && all.find("abc") != std::string::npos);
    EXPECT_FALSE(all.ends_with("0\r\n\r\n"));
  }
  testing::internal::GetCapturedStderr();
}

// --- sources that read the request, pace, shedding --------------------------------------------

TEST_F(H1Connection, TheSourceOfAResponseReadsTheRequest) {
  add(POST, "/plain", echo_as_it_comes);
  add(POST, "/coroutine", echo_as_it_comes_later);
  for (const char* const path : {"/plain", "/coroutine"}) {
    transport_.writes.clear();
    open();
    transport_.arrive(post(path, "Content-Length: 6\r\n", "abc"));
    EXPECT_EQ(written(), chunked_head() + "3\r\nabc\r\n");
    transport_.arrive("def" + get("/hello"));
    EXPECT_EQ(written(), chunked_head() + "3\r\nabc\r\n3\r\ndef\r\n0\r\n\r\n" + ok("hello"));
    transport_.end();
    EXPECT_TRUE(over());
    connection_.reset();
    transport_.forget_end();
  }
}

// RFC 9110, 10.1.1: 100 is an interim response, so it cannot follow the final head.
TEST_F(H1Connection, AsksForNoBodyInTheMiddleOfAResponse) {
  add(POST, "/plain", echo_as_it_comes);
  open();
  transport_.arrive(post("/plain", "Content-Length: 3\r\nExpect: 100-continue\r\n", ""));
  transport_.arrive("abc");
  const std::string said = written();
  EXPECT_EQ(said.find("100 Continue"), std::string::npos);
  EXPECT_NE(said.find(closes), std::string::npos);
  EXPECT_TRUE(said.ends_with("3\r\nabc\r\n0\r\n\r\n")) << said;
  transport_.end();
  EXPECT_TRUE(over());
}

TEST_F(H1Connection, AnUploadThatDribblesFails) {
  open();
  transport_.arrive(post("/echo", "Content-Length: 10\r\n", ""));
  EXPECT_EQ(transport_.timeouts.back(), limits_.body_idle_ms_max);
  engine_.time_ms += 59'000;
  transport_.arrive("x");
  EXPECT_EQ(body_error_, 0);
  EXPECT_LT(transport_.timeouts.back(), 2000U);
  engine_.time_ms += 59'000;
  transport_.arrive("x");
  EXPECT_EQ(body_error_, ETIMEDOUT);
  EXPECT_NE(written().find(closes), std::string::npos);
  transport_.end();
  EXPECT_TRUE(over());
}

TEST_F(H1Connection, AnUploadThatKeepsUpGoesOn) {
  const std::string minute(limits_.bytes_per_s_min * 59, 'x');
  open();
  transport_.arrive(
      post("/echo", "Content-Length: " + std::to_string(20 * minute.size()) + "\r\n", ""));
  for (int i = 0; i < 20; ++i) {
    engine_.time_ms += 59'000;
    transport_.arrive(minute);
  }
  EXPECT_EQ(body_error_, 0);
  EXPECT_TRUE(written().ends_with(minute));
  transport_.end();
  EXPECT_TRUE(over());
}

TEST_F(H1Connection, TheConnectionThatIsIdleLongestIsShed) {
  open();
  transport_.arrive(get("/wait"));
  EXPECT_FALSE(context_.connections.shed_longest_idle());
  event_.set();
  EXPECT_FALSE(over());
  EXPECT_TRUE(context_.connections.shed_longest_idle());
  EXPECT_TRUE(over() && transport_.finished);
}

TEST_F(H1Connection, NamesWhatHasNotEnded) {
  open();
  EXPECT_TRUE(context_.connections.name_unfinished().empty());
  transport_.arrive(get("/wait"));
  EXPECT_EQ(context_.connections.name_unfinished(),
            std::vector<std::string>{"GET /wait (route /wait)"});
  event_.set();
  EXPECT_TRUE(context_.connections.name_unfinished().empty());
  transport_.end();
}

Task<bool> always() { co_return true; }
// GCC 12 miscompiles this; see h2server/task.h.
Task<Response> awaits_in_a_condition(Request&) {
  if (co_await always()) co_return Response(200, "hello");
  co_return Response(404);
}

TEST_F(H1Connection, AHandlerThatNeverStartsIsAnsweredFor) {
  add(GET, "/never", awaits_in_a_condition);
  testing::internal::CaptureStderr();
  const std::string answer = answer_to(get("/never"));
  const std::string log = testing::internal::GetCapturedStderr();
  if (answer == ok("hello")) return;  // compiled correctly
  EXPECT_TRUE(answer.starts_with("HTTP/1.1 500 ")) << answer;
  EXPECT_NE(log.find("name the result first: bool ok = co_await"), std::string::npos) << log;
}

}  // namespace connection_test
}  // namespace h2server::http::h1
