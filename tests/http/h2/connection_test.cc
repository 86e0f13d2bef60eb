#include "http/h2/connection.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "http/h2/connection_fixture.h"

namespace h2server::http::h2 {
namespace connection_test {

class H2Connection : public ConnectionFixture {};

INSTANTIATE_TEST_SUITE_P(, H2Connection,
                         testing::Values(Http2Implementation::native, Http2Implementation::nghttp2),
                         name_of_parameter);

// --- requests ---------------------------------------------------------------------------------

TEST_P(H2Connection, AnswersWhatCameTogetherInOneWrite) {
  open();
  settle();
  const std::size_t before = transport_.writes.size();
  const std::int32_t first = client_.request("GET", "/hello");
  const std::int32_t second = client_.request("POST", "/echo", {}, "abc");
  const std::int32_t third = client_.request("HEAD", "/hello");
  transport_.arrive(client_.bytes());
  EXPECT_EQ(transport_.writes.size(), before + 1);
  settle();
  EXPECT_EQ(answer(first).body, "hello");
  EXPECT_EQ(answer(second).body, "abc");
  EXPECT_EQ(answer(third).body, "");
  for (const std::int32_t id : {first, second, third}) {
    EXPECT_EQ(answer(id).status(), "200");
    EXPECT_TRUE(answer(id).ended);
  }
  transport_.end();
  EXPECT_TRUE(over() && transport_.finished);
}

TEST_P(H2Connection, AnswersRequestsThatComeByteByByte) {
  const std::int32_t first = client_.request("GET", "/hello");
  const std::int32_t second = client_.request("POST", "/echo", {}, "abc");
  const std::string bytes = client_.bytes();
  open(bytes.substr(0, 10));
  for (const char& c : bytes.substr(10)) transport_.arrive({&c, 1});
  settle();
  EXPECT_EQ(answer(first).body, "hello");
  EXPECT_EQ(answer(second).body, "abc");
  transport_.end();
}

TEST_P(H2Connection, AnswersByItselfWhatNoHandlerDoes) {
  testing::internal::CaptureStderr();
  limits_.head_bytes_max = 1000;
  open();
  const std::vector<std::pair<std::int32_t, std::string>> rows = {
      {client_.request("GET", "/nothing"), "404"},
      {client_.request("POST", "/hello", {}, "body"), "405"},
      {client_.request("BREW", "/hello"), "501"},
      {client_.request("GET", "/../etc"), "400"},
      {client_.request("OPTIONS", "*"), "204"},
      {client_.request("GET", "/throw"), "500"},
      {client_.request("GET", "/hello", {{"x", std::string(1000, 'y')}}), "431"},
      {client_.request("GET", "/hello"), "200"},
  };
  settle();
  for (const auto& [id, status] : rows) {
    EXPECT_EQ(answer(id).status(), status);
    EXPECT_TRUE(answer(id).ended) << status;
  }
  transport_.end();
  testing::internal::GetCapturedStderr();
}

// --- bodies of requests -----------------------------------------------------------------------

TEST_P(H2Connection, AHandlerThatReadsSlowlyHoldsUpItsClient) {
  open();
  const std::string body(3'000'000, 'x');
  const std::int32_t id = client_.request("POST", "/echo_later", {}, body);
  settle();
  EXPECT_EQ(body.size() - client_.left(id), 1024U * 1024);  // the stream's window
  event_.set();
  settle();
  EXPECT_TRUE(answer(id).body == body);
  transport_.end();
}

TEST_P(H2Connection, SendsInterimResponses) {
  add(POST, "/informs", [](Request& request) -> Task<Response> {
    const Field place{"Location", "/uploads/1"};
    request.send_interim(104, {&place, 1});
    const Result<std::string> body = co_await request.read_all(100);
    request.send_interim(199);
    co_return Response(200, *body);
  });
  open();
  const std::int32_t id = client_.request("POST", "/informs", {}, "ab", false);
  settle();
  EXPECT_EQ(answer(id).interim, ":status=104;location=/uploads/1;");
  EXPECT_EQ(answer(id).fields, "");
  client_.send(id, "c", true);
  settle();
  EXPECT_EQ(answer(id).interim, ":status=104;location=/uploads/1;:status=199;");
  EXPECT_EQ(answer(id).status(), "200");
  EXPECT_EQ(answer(id).body, "abc");
  transport_.end();
}

TEST_P(H2Connection, AsksForABodyThatIsHeldBack) {
  open();
  const Headers expects = {{"expect", "100-continue"}};
  const std::int32_t id = client_.request("POST", "/echo", expects, "", false);
  const std::int32_t ignored = client_.request("POST", "/ignore", expects, "", false);
  settle();
  EXPECT_TRUE(answer(id).continued);
  EXPECT_FALSE(answer(ignored).continued);
  EXPECT_EQ(answer(ignored).status(), "200");
  client_.send(id, "abc", true);
  settle();
  EXPECT_EQ(answer(id).body, "abc");
  transport_.end();
}

TEST_P(H2Connection, EndsAnUploadThatNobodyReads) {
  limits_.drain_bytes_max = 100'000;
  open();
  const std::int32_t large = client_.request("POST", "/ignore", {}, std::string(300'000, 'x'));
  const std::int32_t small = client_.request("POST", "/ignore", {}, std::string(50'000, 'x'));
  settle();
  EXPECT_EQ(answer(large).body + answer(small).body, "ignoredignored");
  EXPECT_EQ(answer(large).reset, static_cast<std::uint32_t>(NGHTTP2_NO_ERROR));
  EXPECT_FALSE(answer(small).reset.has_value());
  transport_.end();
}

// --- aborts -----------------------------------------------------------------------------------

TEST_P(H2Connection, AResetReachesAHandlerThatReads) {
  open();
  const std::int32_t id = client_.request("POST", "/echo", {}, "abc", false);
  settle();
  client_.reset(id);
  settle();
  EXPECT_EQ(errors_, std::vector<int>{ECONNRESET});
  const std::int32_t other = client_.request("GET", "/hello");
  settle();
  EXPECT_EQ(answer(other).body, "hello");
  transport_.end();
}

TEST_P(H2Connection, CountsHandlersThatOutliveTheirStreams) {
  limits_.streams_max = 2;
  std::deque<coro::Event> events;
  add(GET, "/slow", [&](Request&) -> Task<Response> {
    co_await events.emplace_back().wait();
    co_return Response(200, "slow");
  });
  open();
  for (int i = 0; i < 6; ++i) {
    const std::int32_t id = client_.request("GET", "/slow");
    settle();
    const bool refused = answer(id).reset == static_cast<std::uint32_t>(NGHTTP2_REFUSED_STREAM);
    EXPECT_EQ(refused, i >= 4) << i;
    client_.reset(id);
    settle();
  }
  EXPECT_EQ(events.size(), 4U);
  for (coro::Event& event : events) event.set();
  transport_.end();
}

TEST_P(H2Connection, TheEndReachesEveryHandler) {
  open();
  client_.request("POST", "/echo", {}, "abc", false);
  client_.request("GET", "/wait");
  client_.request("POST", "/echo", {}, "def", false);
  settle();
  transport_.end();
  EXPECT_EQ(errors_, (std::vector<int>{ECONNRESET, ECONNRESET}));
  EXPECT_FALSE(over());  // the handler of /wait is still running
  event_.set();
  EXPECT_TRUE(over());
}

TEST_P(H2Connection, AFailedWriteReachesEveryHandler) {
  open();
  client_.request("POST", "/echo", {}, "abc", false);
  settle();
  transport_.write_error = EPIPE;
  client_.request("GET", "/hello");
  transport_.arrive(client_.bytes());
  EXPECT_EQ(errors_, std::vector<int>{ECONNRESET});
  EXPECT_TRUE(over() && !transport_.finished);
}

// The connection's end resumes each handler that reads. One of them resumes another handler, whose
// stream is already gone.
TEST_P(H2Connection, AHandlerMayEndAnotherWhenTheConnectionEnds) {
  add(POST, "/ends_another", [this](Request& request) -> Task<Response> {
    const Result<std::string> body = co_await request.read_all(100);
    event_.set();
    co_return Response(200);
  });
  open();
  client_.request("POST", "/echo", {}, "abc", false);
  const std::int32_t waiting = client_.request("GET", "/wait");
  client_.request("POST", "/ends_another", {}, "abc", false);
  settle();
  client_.reset(waiting);
  settle();
  transport_.end();
  EXPECT_EQ(errors_, std::vector<int>{ECONNRESET});
  EXPECT_TRUE(over());
}

// --- long turns -------------------------------------------------------------------------------

class LongTurns : public ConnectionFixture {
 protected:
  LongTurns() {
    engine_.lasts_ms = 20;
    add(GET, "/count", [this](Request&) {
      ++calls_;
      return Response(200, "counted");
    });
  }
  // Returns the bytes of so many requests.
  std::string ask(int requests) {
    for (int i = 0; i < requests; ++i) ids_.push_back(client_.request("GET", "/count"));
    return client_.bytes();
  }
  void expect_all_answered() {
    settle();
    for (const std::int32_t id : ids_) EXPECT_EQ(answer(id).body, "counted") << id;
    EXPECT_EQ(calls_, static_cast<int>(ids_.size()));
    transport_.end();
    EXPECT_TRUE(over());
  }

  int calls_ = 0;
  std::vector<std::int32_t> ids_;
};

INSTANTIATE_TEST_SUITE_P(, LongTurns,
                         testing::Values(Http2Implementation::native, Http2Implementation::nghttp2),
                         name_of_parameter);

TEST_P(LongTurns, RequestsThatCameTogetherTakeSeveral) {
  open();
  settle();
  const std::size_t before = transport_.writes.size();
  transport_.arrive(ask(20));
  EXPECT_EQ(engine_.turns, 2);
  EXPECT_EQ(transport_.writes.size(), before + 3);
  expect_all_answered();
}

TEST_P(LongTurns, RequestsThatCameWithThePrefaceTakeSeveral) {
  const std::string bytes = ask(20);
  open(bytes);
  EXPECT_EQ(engine_.turns, 2);
  EXPECT_EQ(transport_.writes.size(), 3U);
  expect_all_answered();
}

TEST_P(LongTurns, ShortOnesTakeAll) {
  engine_.lasts_ms = 19;
  const std::string bytes = ask(20);
  open(bytes);
  EXPECT_EQ(engine_.turns, 0);
  EXPECT_EQ(transport_.writes.size(), 1U);
  expect_all_answered();
}

TEST_P(LongTurns, AreNoReasonToCallTheClientSlow) {
  add(GET, "/slow", [this](Request&) {
    engine_.time_ms += limits_.settings_ack_ms_max;
    return Response(200, "slow");
  });
  for (int i = 0; i < 8; ++i) ids_.push_back(client_.request("GET", "/slow"));
  const std::string bytes = client_.bytes();
  open(bytes);
  settle();
  for (const std::int32_t id : ids_) EXPECT_EQ(answer(id).body, "slow") << id;
  EXPECT_TRUE(client_.goaways.empty());
  transport_.end();
  EXPECT_TRUE(over());
}

TEST_P(LongTurns, AClientThatHasGoneGetsNoMoreOfThem) {
  open();
  settle();
  transport_.write_error = EPIPE;
  transport_.arrive(ask(20));
  EXPECT_EQ(calls_, 8);
  EXPECT_TRUE(over());
}

// RFC 9113, 6.8: it sends no more than what it has sent.
TEST_P(LongTurns, AClientThatGoesAwayGetsAllOfThem) {
  open();
  settle();
  const std::string requests = ask(20);
  transport_.arrive(std::string("\0\0\x08\x07\0\0\0\0\0\0\0\0\0\0\0\0\0", 17) + requests);
  settle();
  EXPECT_EQ(calls_, 20);
  for (const std::int32_t id : ids_) EXPECT_EQ(answer(id).body, "counted") << id;
  EXPECT_TRUE(transport_.finished);
  transport_.end();
  EXPECT_TRUE(over());
}

TEST_P(LongTurns, ADrainBetweenThemLosesNone) {
  open();
  settle();
  engine_.holds_turns = true;
  transport_.arrive(ask(20));
  EXPECT_EQ(calls_, 8);
  context_.connections.drain();
  while (engine_.next_turn()) {
  }
  expect_all_answered();
  EXPECT_FALSE(client_.goaways.empty());
}

TEST_P(LongTurns, BetweenThemAClientIsCutOff) {
  open();
  settle();
  engine_.holds_turns = true;
  transport_.arrive(ask(20));
  for (Drainable* const one : context_.connections.members()) one->cut_off();
  while (engine_.next_turn()) {
  }
  EXPECT_EQ(calls_, 8);
  transport_.fail(ECONNRESET);  // as its read ends then
  transport_.end();
  EXPECT_TRUE(over());
}

TEST_P(LongTurns, TheServerEndsBetweenThem) {
  open();
  settle();
  engine_.holds_turns = true;
  transport_.arrive(ask(20));
  EXPECT_TRUE(engine_.next_turn(-ECANCELED));
  EXPECT_FALSE(engine_.next_turn());
  EXPECT_EQ(calls_, 8);
  transport_.end();
  EXPECT_TRUE(over());
}

// The buffer of the read is the connection's until all requests of it have begun.
TEST_P(LongTurns, ContentIsReadBetweenThem) {
  open();
  settle();
  engine_.holds_turns = true;
  const std::int32_t upload = client_.request("POST", "/echo_later", {}, "content");
  const std::string first = client_.bytes();
  transport_.arrive(first + ask(20));
  EXPECT_LT(calls_, 20);
  event_.set();
  while (engine_.next_turn()) {
  }
  settle();
  EXPECT_EQ(answer(upload).body, "content");
  expect_all_answered();
}

// --- draining, limits and counts --------------------------------------------------------------

TEST_P(H2Connection, DrainingLetsStreamsEnd) {
  open();
  const std::int32_t id = client_.request("GET", "/wait");
  settle();
  context_.connections.drain();
  settle();
  EXPECT_EQ(client_.goaways.size(), 2U);
  EXPECT_FALSE(over());
  event_.set();
  settle();
  EXPECT_EQ(answer(id).body, "waited");
  EXPECT_TRUE(transport_.finished);
  EXPECT_FALSE(over()) << "a close with unread data would destroy what the client has not read";
  transport_.end();
  EXPECT_TRUE(over());
}

TEST_P(H2Connection, ServesSoManyRequestsAndNoMore) {
  limits_.requests_per_connection = 2;
  int calls = 0;
  add(GET, "/count", [&calls](Request&) {
    ++calls;
    return Response(200, "counted");
  });
  open();
  const std::int32_t first = client_.request("GET", "/wait");
  settle();
  EXPECT_EQ(client_.goaways.size(), 0U);
  const std::int32_t second = client_.request("GET", "/count");
  client_.request("GET", "/count");
  settle();
  EXPECT_EQ(client_.goaways.size(), 1U);
  EXPECT_EQ(answer(second).body, "counted");
  EXPECT_FALSE(over()) << "what has begun is finished";
  event_.set();
  settle();
  EXPECT_EQ(answer(first).body, "waited");
  transport_.end();
  EXPECT_TRUE(over());
  EXPECT_EQ(calls, 1);
}

TEST_P(H2Connection, CountsOpenStreams) {
  base::Counter streams;
  context_.streams = &streams;
  open();
  client_.request("GET", "/wait");
  client_.request("POST", "/echo", {}, "abc", false);
  settle();
  EXPECT_EQ(streams.get(), 2U);
  event_.set();
  settle();
  EXPECT_EQ(streams.get(), 1U);
  transport_.end();
  EXPECT_TRUE(over());
  EXPECT_EQ(streams.get(), 0U);
}

}  // namespace connection_test
}  // namespace h2server::http::h2
