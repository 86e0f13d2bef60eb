// Handlers that write while they read, over HTTP/2 under each scheme and by both implementations.
#include "http/h2/frames.h"
#include "http/h2/nghttp2_client.h"
#include "server/exchange_fixture.h"

namespace h2server::tests {
namespace exchange_http2_test {

using http::h2::Nghttp2Client;
using Answer = Nghttp2Client::Answer;

// A client on a socket. Reads frame by frame.
class Http2Peer {
 public:
  explicit Http2Peer(std::uint16_t port) : socket_(port) {}

  std::int32_t request(const std::string& method, std::optional<std::string> body = {},
                       bool ends = true, const http::h2::Headers& fields = {}) {
    const std::int32_t id = protocol_.request(method, "/", fields, std::move(body), ends);
    flush();
    return id;
  }
  void send(std::int32_t id, const std::string& bytes, bool ends) {
    protocol_.send(id, bytes, ends);
    flush();
  }
  void reset(std::int32_t id) {
    protocol_.reset(id);
    flush();
  }
  // Reads until the condition holds for the answer. Returns false if the connection ends before.
  template <class F>
  bool read_until(std::int32_t id, F condition) {
    while (!condition(protocol_.answers[id])) {
      if (!read_frame()) return false;
      flush();
    }
    return true;
  }
  Answer answer(std::int32_t id) {
    EXPECT_TRUE(read_until(id, [](const Answer& a) { return a.ended || a.reset; }));
    return protocol_.answers[id];
  }
  bool has_body(std::int32_t id, std::string_view body) {
    return read_until(id, [&](const Answer& a) { return a.body == body || a.ended || a.reset; }) &&
           protocol_.answers[id].body == body;
  }
  // Waits until the server has handled all that was sent so far, without reading for the streams.
  void wait_for_ping() {
    socket_.send(http::h2::ping("testping"));
    for (;;) {
      const http::h2::FrameHead head = take_frame();
      if (head.type == http::h2::FrameType::ping || head.size + frame_.size() == 0) return;
    }
  }

 private:
  void flush() { socket_.send(protocol_.bytes()); }
  http::h2::FrameHead take_frame() {
    frame_ = socket_.take(http::h2::frame_head_bytes);
    if (frame_.size() < http::h2::frame_head_bytes) return frame_.clear(), http::h2::FrameHead{};
    const http::h2::FrameHead head = http::h2::read_frame_head(frame_.data());
    frame_ += socket_.take(head.size);
    return head;
  }
  bool read_frame() {
    take_frame();
    if (!frame_.empty()) protocol_.receive(frame_);
    return !frame_.empty();
  }

  Client socket_;
  Nghttp2Client protocol_;
  std::string frame_;
};

class ExchangeHttp2 : public ExchangeFixture {
 protected:
  template <class F>
  void for_each_implementation(ExchangeHandler handler, F test) {
    for (const auto implementation : {Http2Implementation::native, Http2Implementation::nghttp2}) {
      SCOPED_TRACE(implementation == Http2Implementation::native ? "native" : "nghttp2");
      server_.reset();
      notes_.bytes = 0;
      notes_.error = 0;
      notes_.open = false;
      ServerOptions options = cleartext(GetParam(), 2);
      options.http2 = implementation;
      options.drain_limit = std::chrono::milliseconds(100);
      serve(handler, options);
      Http2Peer peer(port_);
      test(peer);
    }
  }
};

INSTANTIATE_TEST_SUITE_P(Schemes, ExchangeHttp2, testing::ValuesIn(schemes),
                         [](const auto& row) { return scheme_name(row.param); });

TEST_P(ExchangeHttp2, EchoesWhileTheRequestArrives) {
  for_each_implementation(echo, [](Http2Peer& peer) {
    const std::int32_t id = peer.request("POST", "abc", false);
    EXPECT_TRUE(peer.has_body(id, "abc"));
    peer.send(id, "de", false);
    EXPECT_TRUE(peer.has_body(id, "abcde"));
    peer.send(id, "", true);
    const Answer answer = peer.answer(id);
    EXPECT_EQ(answer.status(), "200");
    EXPECT_EQ(answer.trailers, "sum=5;");
    EXPECT_EQ(answer.reset, std::nullopt);
  });
}

TEST_P(ExchangeHttp2, TwoTasksAndTwoStreams) {
  if (!has_loop()) GTEST_SKIP() << "reads and writes in turn";
  for_each_implementation(echo_by_two, [](Http2Peer& peer) {
    const std::int32_t a = peer.request("POST", "a", false);
    const std::int32_t b = peer.request("POST", "b", false);
    EXPECT_TRUE(peer.has_body(b, "<b>"));
    EXPECT_TRUE(peer.has_body(a, "<a>"));
    peer.send(a, "aa", true);
    EXPECT_EQ(peer.answer(a).body, "<a><aa>");
    peer.send(b, "bb", true);
    EXPECT_EQ(peer.answer(b).body, "<b><bb>");
  });
}

TEST_P(ExchangeHttp2, AnswersBeforeTheRequestsEnd) {
  for_each_implementation(answer_unread, [](Http2Peer& peer) {
    const std::int32_t id = peer.request("POST", "abc", false);
    EXPECT_EQ(peer.answer(id).body, "early");
    peer.send(id, "", true);
    EXPECT_EQ(peer.answer(peer.request("GET")).body, "early") << "the connection goes on";
  });
}

TEST_P(ExchangeHttp2, HeadHasNoContent) {
  for_each_implementation(answer_unread, [](Http2Peer& peer) {
    const Answer answer = peer.answer(peer.request("HEAD"));
    EXPECT_EQ(answer.status(), "200");
    EXPECT_EQ(answer.body, "");
    EXPECT_EQ(answer.reset, std::nullopt);
    EXPECT_EQ(peer.answer(peer.request("GET")).body, "early");
  });
}

TEST_P(ExchangeHttp2, HeadEndsAHandlerThatWritesForEver) {
  for_each_implementation(flood, [this](Http2Peer& peer) {
    EXPECT_EQ(peer.answer(peer.request("HEAD")).status(), "200");
    ASSERT_TRUE(notes_.ended.wait());
  });
}

TEST_P(ExchangeHttp2, OnlyOneTaskReads) {
  for_each_implementation(read_twice, [this](Http2Peer& peer) {
    const std::int32_t id = peer.request("POST", "", false);
    peer.send(id, "abc", true);
    EXPECT_EQ(peer.answer(id).status(), "200");
    ASSERT_TRUE(notes_.ended.wait());
    EXPECT_EQ(notes_.error, EBUSY);
  });
}

TEST_P(ExchangeHttp2, TheResponseEndsBeforeTheHandler) {
  for_each_implementation(finish_early, [this](Http2Peer& peer) {
    const std::int32_t id = peer.request("POST", "a", false);
    EXPECT_EQ(peer.answer(id).body, "begun");
    peer.send(id, "bc", true);
    ASSERT_TRUE(notes_.ended.wait());
    EXPECT_EQ(notes_.bytes, 3U);
  });
}

TEST_P(ExchangeHttp2, NoContentWhileTheRequestIsRead) {
  for_each_implementation(count_after_204, [this](Http2Peer& peer) {
    const std::int32_t id = peer.request("POST", "abc", false);
    const Answer answer = peer.answer(id);
    EXPECT_EQ(answer.status(), "204");
    EXPECT_EQ(answer.reset, std::nullopt);
    peer.send(id, "de", true);
    ASSERT_TRUE(notes_.ended.wait());
    EXPECT_EQ(notes_.bytes, 5U);
  });
}

TEST_P(ExchangeHttp2, ThrowsBeforeItsHead) {
  for_each_implementation(throw_before, [](Http2Peer& peer) {
    EXPECT_EQ(peer.answer(peer.request("GET")).status(), "500");
    EXPECT_EQ(peer.answer(peer.request("POST", "abc", false)).status(), "500");
  });
}

TEST_P(ExchangeHttp2, ThrowsAfterItsHead) {
  for_each_implementation(throw_after, [](Http2Peer& peer) {
    for (int round = 0; round < 2; ++round) {
      const Answer answer = peer.answer(peer.request("GET"));
      EXPECT_EQ(answer.status(), "200");
      EXPECT_TRUE(answer.reset.has_value()) << "the body must look cut";
    }
  });
}

TEST_P(ExchangeHttp2, AnswersNothing) {
  for_each_implementation(answer_nothing, [](Http2Peer& peer) {
    EXPECT_EQ(peer.answer(peer.request("GET")).status(), "500");
  });
}

TEST_P(ExchangeHttp2, ClientResetsTheStream) {
  for (const ExchangeHandler handler : {echo, wait_long}) {
    if (handler == wait_long && !has_loop()) continue;  // a thread that sleeps sees no frames
    for_each_implementation(handler, [this](Http2Peer& peer) {
      const std::int32_t id = peer.request("POST", "", false);
      ASSERT_TRUE(notes_.entered.wait());
      peer.reset(id);
      ASSERT_TRUE(notes_.ended.wait());
      EXPECT_EQ(notes_.reason, StopReason::client_left);
      EXPECT_NE(notes_.error, 0);
    });
  }
}

TEST_P(ExchangeHttp2, ClientLeaves) {
  for (const ExchangeHandler handler : {echo, wait_long, flood}) {
    if (handler == wait_long && !has_loop()) continue;
    for_each_implementation(handler, [this](Http2Peer&) {
      {
        Http2Peer leaving(port_);
        leaving.request("POST", "", false);
        ASSERT_TRUE(notes_.entered.wait());
      }
      ASSERT_TRUE(notes_.ended.wait());
      EXPECT_EQ(notes_.reason, StopReason::client_left);
      EXPECT_NE(notes_.error, 0);
    });
  }
}

TEST_P(ExchangeHttp2, WritesWaitForTheWindow) {
  for_each_implementation(flood, [this](Http2Peer& peer) {
    const std::int32_t id = peer.request("GET");
    ASSERT_TRUE(notes_.entered.wait());
    peer.wait_for_ping();
    // The window has 64 KiB; two pieces wait, and a third is being written.
    EXPECT_LE(notes_.bytes, 4 * flood_piece_bytes);
    peer.reset(id);
    ASSERT_TRUE(notes_.ended.wait());
    EXPECT_EQ(notes_.error, ECANCELED);
  });
}

TEST_P(ExchangeHttp2, FinishesAfterItsDeadline) {
  for_each_implementation(finish_late, [this](Http2Peer& peer) {
    const Answer answer = peer.answer(peer.request("GET", {}, true, {{"deadline", "yes"}}));
    EXPECT_EQ(answer.body, "begun");
    EXPECT_EQ(answer.trailers, "end=late;");
    EXPECT_EQ(answer.reset, std::nullopt);
    ASSERT_TRUE(notes_.ended.wait());
    EXPECT_EQ(notes_.reason, StopReason::deadline);
  });
}

TEST_P(ExchangeHttp2, IsCutAtItsDeadline) {
  for_each_implementation(cut_late, [this](Http2Peer& peer) {
    EXPECT_TRUE(peer.answer(peer.request("GET")).reset.has_value());
    ASSERT_TRUE(notes_.ended.wait());
    EXPECT_EQ(notes_.reason, StopReason::deadline);
  });
}

TEST_P(ExchangeHttp2, ServerStops) {
  for_each_implementation(finish_late, [this](Http2Peer& peer) {
    const std::int32_t id = peer.request("GET");
    ASSERT_TRUE(notes_.entered.wait());
    EXPECT_TRUE(peer.has_body(id, "begun"));
    server_->stop();
    EXPECT_TRUE(server_->wait()) << "nothing is left behind";
    ASSERT_TRUE(notes_.ended.wait());
    EXPECT_EQ(notes_.reason, StopReason::server_stops);
  });
}

TEST_P(ExchangeHttp2, MisuseThrows) {
  for_each_implementation(misuse, [this](Http2Peer& peer) {
    const Answer answer = peer.answer(peer.request("GET"));
    EXPECT_EQ(answer.body, misuse_outcomes);
    EXPECT_EQ(answer.trailers, "which=first;");
    ASSERT_TRUE(notes_.ended.wait());
    EXPECT_EQ(notes_.error, 0);
  });
}

TEST_P(ExchangeHttp2, ExpectationIsMetByTheFirstRead) {
  for_each_implementation(gate, [this](Http2Peer& peer) {
    notes_.open = true;
    const std::int32_t id = peer.request("POST", "", false, {{"expect", "100-continue"}});
    EXPECT_TRUE(peer.read_until(id, [](const Answer& a) { return a.continued; }));
    peer.send(id, "abc", true);
    EXPECT_EQ(peer.answer(id).body, "gateabc");
  });
}

}  // namespace exchange_http2_test
}  // namespace h2server::tests
