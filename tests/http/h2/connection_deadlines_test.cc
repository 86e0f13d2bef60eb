// Tests the deadlines of an HTTP/2 connection: each stream has its own.
#include "http/h2/framed_connection.h"

namespace h2server::http::h2 {
namespace connection_deadlines_test {

class ConnectionDeadlines : public FramedConnection {
 protected:
  // The client sends `bytes` every 55 s, `minutes` times.
  void dribble(std::string_view bytes, int minutes) {
    for (int i = 0; i < minutes && !over(); ++i) {
      pass(55'000);
      transport_.arrive(bytes);
    }
  }
};

INSTANTIATE_TEST_SUITE_P(, ConnectionDeadlines,
                         testing::Values(Http2Implementation::native, Http2Implementation::nghttp2),
                         name_of_parameter);

// --- connections without streams --------------------------------------------------------------

TEST_P(ConnectionDeadlines, ASilentConnectionEnds) {
  begin("");
  pass(limits_.idle_ms_max - 1);
  EXPECT_FALSE(says("goaway"));
  pass(1);
  EXPECT_TRUE(says("goaway0=0"));
  transport_.end();
  EXPECT_TRUE(over());
}

TEST_P(ConnectionDeadlines, TheSilenceBeginsWithTheEndOfTheLastStream) {
  begin(request(1, "GET", "/wait", true));
  pass(10 * limits_.idle_ms_max);
  event_.set();
  EXPECT_TRUE(says("data1:6;"));
  pass(limits_.idle_ms_max - 1);
  EXPECT_FALSE(says("goaway"));
  pass(1);
  EXPECT_TRUE(says("goaway1=0"));
  transport_.end();
}

TEST_P(ConnectionDeadlines, PingsKeepAConnectionOpenButNotForEver) {
  begin("");
  std::int64_t lived_ms = 0;
  for (; !over() && lived_ms < 10 * limits_.quiet_ms_max; lived_ms += 20'000) {
    engine_.time_ms += 20'000;
    transport_.arrive(ping());
    if (says("goaway")) break;
  }
  EXPECT_GE(lived_ms, limits_.quiet_ms_max - 20'000);
  EXPECT_LE(lived_ms, limits_.quiet_ms_max + 20'000);
  transport_.end();
}

TEST_P(ConnectionDeadlines, AConnectionThatIsShedEndsAtOnce) {
  begin("");
  said();
  EXPECT_TRUE(context_.connections.shed_longest_idle());
  EXPECT_TRUE(says("goaway0=0"));
  EXPECT_TRUE(over());
  EXPECT_FALSE(context_.connections.shed_longest_idle());
}

TEST_P(ConnectionDeadlines, ABusyConnectionIsNotShed) {
  begin(request(1, "GET", "/wait", true));
  EXPECT_FALSE(context_.connections.shed_longest_idle());
  event_.set();
  EXPECT_TRUE(says("data1:6;"));
  EXPECT_FALSE(over());
  transport_.arrive(ping());
  EXPECT_TRUE(context_.connections.shed_longest_idle());
  EXPECT_TRUE(over());
}

// --- heads ------------------------------------------------------------------------------------

// The block arrives as HEADERS with one byte, then empty CONTINUATIONs.
TEST_P(ConnectionDeadlines, AFieldBlockHasADeadline) {
  const std::string fields =
      block({{":method", "GET"}, {":scheme", "http"}, {":path", "/hello"}, {":authority", "a"}});
  const std::string head = headers(1, fields.substr(0, 1), 0);
  const std::string more = frame(FrameType::continuation, 0, 1, "");
  begin("");
  said();
  transport_.arrive(head);
  for (std::int64_t ms = 0; ms < limits_.head_ms_max; ms += 3000) {  // libnghttp2 accepts 8
    EXPECT_FALSE(says("goaway")) << ms;
    engine_.time_ms += 3000;
    transport_.arrive(more);
  }
  EXPECT_TRUE(says("=11"));
  transport_.end();
  EXPECT_TRUE(over());
}

TEST_P(ConnectionDeadlines, ASilentClientFinishesNoFieldBlock) {
  begin(headers(1, "", 0));
  pass(limits_.head_ms_max);
  EXPECT_TRUE(says("=11"));
  transport_.end();
}

// Each receive ends within a head, but no head takes long.
TEST_P(ConnectionDeadlines, HeadsInPiecesAreNoneThatDribbles) {
  begin("");
  const std::string first = request(1, "GET", "/hello", true);
  std::string rest = first;
  transport_.arrive(rest.substr(0, 12));
  rest = rest.substr(12);
  for (std::uint32_t id = 3; id < 100; id += 2) {
    engine_.time_ms += 1000;
    const std::string next = request(id, "GET", "/hello", true);
    transport_.arrive(rest + next.substr(0, 12));
    rest = next.substr(12);
    EXPECT_FALSE(says("goaway")) << id;
  }
  transport_.end();
}

// --- uploads ----------------------------------------------------------------------------------

TEST_P(ConnectionDeadlines, AnUploadThatStopsFailsAlone) {
  begin(request(1, "GET", "/wait", true) + request(3, "POST", "/echo", false) + data(3, "abc"));
  pass(limits_.body_idle_ms_max - 5000);
  EXPECT_TRUE(errors_.empty());
  pass(10'000);
  EXPECT_EQ(errors_, std::vector<int>{ETIMEDOUT});
  EXPECT_TRUE(says("data3:6;"));  // "broken"
  event_.set();
  EXPECT_TRUE(says("data1:6;"));
  EXPECT_FALSE(over());
  transport_.end();
}

TEST_P(ConnectionDeadlines, AnUploadThatDribblesFails) {
  begin(request(1, "POST", "/echo", false));
  dribble(data(1, "x"), 3);
  EXPECT_EQ(errors_, std::vector<int>{ETIMEDOUT});
  transport_.end();
}

TEST_P(ConnectionDeadlines, PingsKeepNoUpload) {
  begin(request(1, "POST", "/echo", false));
  dribble(ping(), 3);
  EXPECT_EQ(errors_, std::vector<int>{ETIMEDOUT});
  transport_.end();
}

TEST_P(ConnectionDeadlines, AnUploadThatKeepsUpGoesOn) {
  begin(request(1, "POST", "/echo", false));
  dribble(data(1, std::string(limits_.bytes_per_s_min * 60, 'x')), 20);
  EXPECT_TRUE(errors_.empty());
  transport_.arrive(data(1, "end", true));
  EXPECT_TRUE(says("data1:"));
  transport_.end();
}

// The handler has answered, and the client neither continues nor ends its request.
TEST_P(ConnectionDeadlines, ARequestThatGoesOnBehindItsResponseEnds) {
  begin(request(1, "POST", "/ignore", false));
  EXPECT_TRUE(says("data1:7;"));
  pass(limits_.body_idle_ms_max + 5000);
  EXPECT_TRUE(says("reset1=0"));
  transport_.end();
}

// --- downloads --------------------------------------------------------------------------------

TEST_P(ConnectionDeadlines, ADownloadWithoutWindowIsReset) {
  add(GET, "/big", [](Request&) { return Response(200, std::string(200'000, 'x')); });
  begin(request(1, "GET", "/big", true) + request(3, "GET", "/wait", true));
  pass(limits_.send_idle_ms_max - 5000);
  EXPECT_FALSE(says("reset"));
  pass(10'000);
  EXPECT_TRUE(says("reset1=8"));
  event_.set();
  EXPECT_FALSE(over());
  transport_.end();
}

TEST_P(ConnectionDeadlines, ADownloadThatIsTakenByTheByteIsReset) {
  add(GET, "/big", [](Request&) { return Response(200, std::string(200'000, 'x')); });
  begin(request(1, "GET", "/big", true));
  std::string all;
  for (int i = 0; i < 3; ++i) {
    pass(55'000);
    transport_.arrive(window_update(1, 1) + window_update(0, 1));
    all += said();
  }
  EXPECT_NE(all.find("reset1=8"), std::string::npos);
  transport_.end();
}

// While the socket accepts nothing, only the pace of the write counts.
TEST_P(ConnectionDeadlines, NoStreamIsResetWhileAWriteIsUnderWay) {
  add(GET, "/big", [](Request&) { return Response(200, std::string(200'000, 'x')); });
  begin("");
  transport_.takes_nothing = true;
  transport_.arrive(request(1, "GET", "/big", true));
  pass(2 * limits_.send_idle_ms_max);
  transport_.takes_nothing = false;
  transport_.takes.set();
  EXPECT_FALSE(says("reset"));
  transport_.end();
  EXPECT_TRUE(over());
}

TEST_P(ConnectionDeadlines, AnEventStreamHasNoDeadline) {
  coro::Event next;
  class Events final : public BodySource {
   public:
    explicit Events(coro::Event& event) : event_(event) {}
    Task<Result<std::string_view>> read() override {
      co_await event_.wait();
      co_return std::string_view("data: x\n\n");
    }

   private:
    coro::Event& event_;
  };
  add(GET, "/events",
      [&next](Request&) { return Response(std::make_unique<Events>(next), "text/event-stream"); });
  begin(request(1, "GET", "/events", true));
  for (int i = 0; i < 5; ++i) {
    pass(2 * limits_.send_idle_ms_max);
    said();
    next.set();
    EXPECT_TRUE(says("data1:9"));
  }
  EXPECT_FALSE(over());
  transport_.arrive(rst_stream(1));
  next.set();
  transport_.end();
}

// A body that waits for its source has no deadline.
TEST_P(ConnectionDeadlines, ABodyWithNothingToSendIsNotTheClientsFault) {
  coro::Event next;
  class Once final : public BodySource {
   public:
    explicit Once(coro::Event& event) : event_(event) {}
    Task<Result<std::string_view>> read() override {
      if (first_) {
        first_ = false;
        co_return std::string_view(text_);
      }
      co_await event_.wait();
      co_return std::string_view();
    }

   private:
    coro::Event& event_;
    bool first_ = true;
    std::string text_ = std::string(default_window_bytes - 1, 'x');  // leaves a byte of the window
  };
  add(GET, "/once",
      [&next](Request&) { return Response(std::make_unique<Once>(next), "text/plain"); });
  begin(request(1, "GET", "/once", true));
  pass(5 * limits_.send_idle_ms_max);
  EXPECT_FALSE(says("reset"));
  next.set();
  transport_.end();
}

// After an upload times out, the handler may take its time to respond.
TEST_P(ConnectionDeadlines, TheAnswerToAnUploadThatStoppedIsSent) {
  coro::Event go;
  add(POST, "/slow", [&](Request& request) -> Task<Response> {
    const Result<std::string> body = co_await request.read_all(100);
    co_await go.wait();
    co_return Response(body ? 200 : 408, "late");
  });
  begin(request(1, "POST", "/slow", false));
  pass(limits_.body_idle_ms_max + 5000);
  pass(30'000);
  EXPECT_FALSE(says("reset"));
  go.set();
  EXPECT_TRUE(says("data1:4;"));
  transport_.end();
}

// The response is complete, and the upload keeps up.
TEST_P(ConnectionDeadlines, ARequestThatKeepsUpBehindItsResponseGoesOn) {
  begin(request(1, "POST", "/ignore", false));
  for (int i = 0; i < 10; ++i) {
    pass(55'000);
    transport_.arrive(data(1, std::string(limits_.bytes_per_s_min * 60, 'x')));
  }
  EXPECT_FALSE(says("reset"));
  transport_.arrive(data(1, "", true));
  transport_.end();
}

}  // namespace connection_deadlines_test
}  // namespace h2server::http::h2
