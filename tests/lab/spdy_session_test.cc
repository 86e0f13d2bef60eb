#include "spdy/session.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "spdy_host.h"

namespace h2server::lab::spdy {
namespace spdy_session_test {

TEST(SpdySession, BeginsWithSettingsAndItsWindow) {
  const Limits limits{
      .streams_max = 77, .stream_window_bytes = 100'000, .connection_window_bytes = 200'000};
  base::Pool<H2Exchange> exchanges;
  SpdySession session(limits, exchanges);
  std::string bytes;
  base::BufferChain& out = session.output();
  for (; !out.empty(); out.consume(out.front().size())) bytes += out.front();
  EXPECT_EQ(bytes, settings({{4, 77}, {7, 100'000}}) + window_update(0, 200'000 - 65'536));
}

TEST(SpdySession, ARequestIsAnswered) {
  for (const std::size_t step : {std::size_t{1}, SIZE_MAX}) {
    SpdyHost host;
    ASSERT_TRUE(host.receive(settings({}) + host.syn_stream(1, with(get, "a", "b")), step));
    EXPECT_EQ(host.log, "1 GET /\n");
    const H2Exchange& exchange = host.exchange(1);
    EXPECT_EQ(exchange.head.authority, "h");
    EXPECT_EQ(exchange.head.fields.find("a"), "b");
    EXPECT_TRUE(exchange.session.ended);
    host.respond(1, Response(200, "hello", "text/plain"));
    EXPECT_EQ(host.take(), "reply 1 :status=200 x=y :version=HTTP/1.1\ndata 1 5 fin\n");
    EXPECT_EQ(host.log, "1 GET /\n1 closed\n");
  }
}

TEST(SpdySession, AnAnswerWithoutABodyEndsWithItsHead) {
  SpdyHost host;
  ASSERT_TRUE(host.receive(all_of({host.syn_stream(1), host.syn_stream(3)})));
  host.respond(3);
  host.respond(1);
  EXPECT_EQ(host.take(), "reply 3 fin :status=200 x=y :version=HTTP/1.1\n"
                         "reply 1 fin :status=200 x=y :version=HTTP/1.1\n");
}

TEST(SpdySession, ContentArrivesInParts) {
  SpdyHost host;
  const std::string bytes = host.syn_stream(1, with(get, "content-length", "5"), 0) +
                            data(1, 0, "hel") + data(1, 0, "lo") + data(1, flag::fin, "");
  ASSERT_TRUE(host.receive(bytes));
  EXPECT_EQ(host.log, "1 GET /\n1 data hel\n1 data lo\n1 ended\n");
  host.respond(1);
  host.take();
  EXPECT_TRUE(host.alive.empty());
}

TEST(SpdySession, TrailersComeInHeaders) {
  SpdyHost host;
  ASSERT_TRUE(host.receive(
      all_of({host.syn_stream(1, get, 0), data(1, 0, "x"), host.headers(1, {{"a", "1"}}, 0),
              host.headers(1, {{"b", "2"}}, flag::fin)})));
  EXPECT_EQ(host.log, "1 GET /\n1 data x\n1 ended\n");
  EXPECT_EQ(host.exchange(1).session.trailers.find("a"), "1");
  EXPECT_EQ(host.exchange(1).session.trailers.find("b"), "2");
}

TEST(SpdySession, SeveralValuesBecomeSeveralFields) {
  SpdyHost host;
  ASSERT_TRUE(host.receive(host.syn_stream(1, with(get, "a", std::string("1\0002", 3)))));
  std::string all;
  for (const Field& field : host.exchange(1).head.fields) {
    all += std::string(field.name) + "=" + std::string(field.value) + " ";
  }
  EXPECT_EQ(all, "a=1 a=2 ");
}

TEST(SpdySession, SpecialPairsMayComeLast) {
  SpdyHost host;
  Pairs pairs = {{"user-agent", "x"}};
  pairs.insert(pairs.end(), get.rbegin(), get.rend());
  ASSERT_TRUE(host.receive(host.syn_stream(1, pairs)));
  EXPECT_EQ(host.log, "1 GET /\n");
}

TEST(SpdySession, PriorityIsThatOfTheFrame) {
  SpdyHost host;
  ASSERT_TRUE(host.receive(host.syn_stream(1, with(get, "priority", "u=7"))));
  EXPECT_EQ(host.exchange(1).stream.priority.urgency, 3);  // 0x60 >> 5
}

// --- windows ----------------------------------------------------------------------------------

TEST(SpdySession, ABodyWaitsForBothWindows) {
  SpdyHost host;
  ASSERT_TRUE(host.receive(settings({{7, 100}}) + host.syn_stream(1)));
  host.respond(1, Response(200, std::string(66'000, 'a'), "text/plain"));
  EXPECT_EQ(host.take(), "reply 1 :status=200 x=y :version=HTTP/1.1\ndata 1 100\n");
  EXPECT_TRUE(host.session->awaits_window(host.exchange(1)));
  EXPECT_FALSE(host.session->awaits_window());
  ASSERT_TRUE(host.receive(window_update(1, 1'000'000)));
  std::string rest = host.take();
  EXPECT_EQ(rest.substr(rest.rfind("data")), "data 1 " + std::to_string(65'436 % 16'384) + "\n");
  EXPECT_TRUE(host.session->awaits_window());  // 64 KiB are used up
  EXPECT_FALSE(host.session->awaits_window(host.exchange(1)));
  ASSERT_TRUE(host.receive(window_update(0, 464)));
  EXPECT_EQ(host.take(), "data 1 464 fin\n");
}

TEST(SpdySession, ASmallerInitialWindowMayBeNegative) {
  SpdyHost host;
  ASSERT_TRUE(host.receive(host.syn_stream(1)));
  host.respond(1, Response(200, std::string(60'000, 'a'), "text/plain"));
  host.take(10'000);
  ASSERT_TRUE(host.receive(settings({{7, 0}}) + window_update(1, 5000)));
  EXPECT_EQ(host.take(), "");
  ASSERT_TRUE(host.receive(settings({{7, 65'536}})));
  const std::string rest = host.take();
  EXPECT_TRUE(rest.ends_with("fin\n")) << rest;
}

TEST(SpdySession, ConsumedContentIsAnnounced) {
  SpdyHost host({.stream_window_bytes = 65'536, .connection_window_bytes = 131'072});
  host.take();
  ASSERT_TRUE(host.receive(host.syn_stream(1, get, 0) + data(1, 0, std::string(32'767, 'a'))));
  EXPECT_EQ(host.take(), "");
  ASSERT_TRUE(host.receive(data(1, 0, "a")));
  EXPECT_EQ(host.take(), "window 1 32768\n");
  ASSERT_TRUE(host.receive(data(1, 0, std::string(32'768, 'a'))));
  EXPECT_EQ(host.take(), "window 0 65536\nwindow 1 32768\n");
}

TEST(SpdySession, ContentThatIsNotConsumedClosesTheWindows) {
  SpdyHost host({.stream_window_bytes = 65'536, .connection_window_bytes = 65'536});
  host.take();
  host.consumes = false;
  ASSERT_TRUE(host.receive(host.syn_stream(1, get, 0) + data(1, 0, std::string(65'536, 'a'))));
  EXPECT_EQ(host.session->unread(), 65'536U);
  EXPECT_FALSE(host.session->may_receive());
  EXPECT_FALSE(host.receive(data(1, 0, "a")));
  EXPECT_EQ(host.take(), "goaway 1 7\n");
}

TEST(SpdySession, ContentOfClosedStreamsOpensTheConnectionsWindow) {
  SpdyHost host({.stream_window_bytes = 65'536, .connection_window_bytes = 65'536});
  host.take();
  ASSERT_TRUE(host.receive(host.syn_stream(1, get, 0)));
  host.session->reset(host.exchange(1), h2::ErrorCode::cancel);
  ASSERT_TRUE(host.receive(data(1, 0, std::string(32'768, 'a'))));
  EXPECT_EQ(host.take(), "reset 1 5\nwindow 0 32768\n");
}

// --- the end ----------------------------------------------------------------------------------

TEST(SpdySession, DrainServesWhatHasBegun) {
  SpdyHost host;
  ASSERT_TRUE(host.receive(host.syn_stream(1)));
  host.session->drain();
  host.session->drain();
  ASSERT_TRUE(host.receive(host.syn_stream(3)));  // sent before the GOAWAY was read
  EXPECT_EQ(host.log, "1 GET /\n");
  EXPECT_EQ(host.take(), "goaway 1 0\nping 2\n");
  host.respond(1);
  host.take();
  EXPECT_FALSE(host.session->finished());  // the client may not have the GOAWAY yet
  ASSERT_TRUE(host.receive(control(FrameType::ping, 0, u32(2))));
  EXPECT_TRUE(host.session->finished());
}

TEST(SpdySession, EndAfterNamesTheStream) {
  SpdyHost host;
  ASSERT_TRUE(host.receive(all_of({host.syn_stream(1), host.syn_stream(3)})));
  host.session->end_after(host.exchange(3));
  ASSERT_TRUE(host.receive(host.syn_stream(5)));
  host.respond(1);
  host.respond(3);
  EXPECT_EQ(host.take().substr(0, 11), "goaway 3 0\n");
  EXPECT_TRUE(host.session->finished());
}

TEST(SpdySession, GoawayOfTheClientLetsStreamsEnd) {
  SpdyHost host;
  ASSERT_TRUE(host.receive(host.syn_stream(1) + goaway(0, 0)));
  EXPECT_FALSE(host.session->finished());
  host.respond(1);
  host.take();
  EXPECT_TRUE(host.session->finished());
}

TEST(SpdySession, CodesBecomeThoseOfSpdy) {
  const std::vector<std::pair<h2::ErrorCode, int>> rows = {
      {h2::ErrorCode::no_error, 5},       {h2::ErrorCode::cancel, 5},
      {h2::ErrorCode::refused_stream, 3}, {h2::ErrorCode::internal_error, 6},
      {h2::ErrorCode::protocol_error, 1}, {h2::ErrorCode::flow_control_error, 7}};
  for (const auto& [code, status] : rows) {
    SpdyHost host;
    ASSERT_TRUE(host.receive(host.syn_stream(1)));
    host.session->reset(host.exchange(1), code);
    EXPECT_EQ(host.take(), "reset 1 " + std::to_string(status) + "\n");
    EXPECT_EQ(host.log, "1 GET /\n1 closed\n");
  }
  const std::vector<std::pair<h2::ErrorCode, int>> ends = {{h2::ErrorCode::no_error, 0},
                                                           {h2::ErrorCode::internal_error, 2},
                                                           {h2::ErrorCode::enhance_your_calm, 1}};
  for (const auto& [code, status] : ends) {
    SpdyHost host;
    host.session->terminate(code);
    EXPECT_TRUE(host.session->failed());
    EXPECT_EQ(host.take(), "goaway 0 " + std::to_string(status) + "\n");
  }
}

TEST(SpdySession, PingsAreEchoedIfTheyAreTheClients) {
  SpdyHost host;
  ASSERT_TRUE(host.receive(control(FrameType::ping, 0, u32(1)) +
                           control(FrameType::ping, 0, u32(2)) +
                           control(FrameType::ping, 0, u32(0xffffffff))));
  EXPECT_EQ(host.take(), "ping 1\nping 4294967295\n");
}

}  // namespace spdy_session_test
}  // namespace h2server::lab::spdy
