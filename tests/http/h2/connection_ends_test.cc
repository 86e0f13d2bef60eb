// Tests how an HTTP/2 connection and its streams end: by silence, by the peer, or while handlers
// wait.
#include "http/h2/framed_connection.h"

namespace h2server::http::h2 {
namespace connection_ends_test {

class ConnectionEnds : public FramedConnection {};

// A handler that learns that its client has left wakes another one, which answers. By then neither
// the session nor a released exchange may be used.
TEST_P(ConnectionEnds, AHandlerThatIsToldMayWakeAnother) {
  coro::Event go;
  add(GET, "/big", [](Request&) { return Response(200, std::string(200'000, 'x')); });
  add(GET, "/waits", [&](Request&) -> Task<Response> {
    co_await go.wait();
    co_return Response(200, std::string(20'000, 'y'));
  });
  add(POST, "/wakes", [&](Request& request) -> Task<Response> {
    const Result<std::string_view> piece = co_await request.read();
    go.set();
    co_return Response(piece ? 200 : 400);
  });
  begin(request(1, "GET", "/waits", true) + request(3, "POST", "/wakes", false) +
        request(5, "GET", "/big", true));
  transport_.end();
  EXPECT_TRUE(over());
}

TEST_P(ConnectionEnds, TheWindowOfWhatNobodyReadIsAnnouncedAtOnce) {
  coro::Event go;
  add(POST, "/unread", [&](Request&) -> Task<Response> {
    co_await go.wait();
    co_return Response(200);
  });
  std::string bytes = request(1, "POST", "/unread", false);
  for (int i = 0; i < 64; ++i) bytes += data(1, std::string(16'384, 'x'));
  begin(bytes + rst_stream(1));
  said();
  go.set();
  EXPECT_TRUE(says("window"));
  transport_.end();
}

// So a client whose windows are closed holds nothing.
TEST_P(ConnectionEnds, ABodyIsProducedWhenItsWindowOpens) {
  add_streamed({"abc"});
  begin(request(1, "GET", "/streamed", true), {{4, 0}});
  EXPECT_TRUE(says("headers1"));
  EXPECT_EQ(source_reads_, 0);
  transport_.arrive(window_update(1, 4));
  EXPECT_EQ(source_reads_, 2);
  EXPECT_TRUE(says("data1:3 data1:0;"));
  transport_.end();
}

// END_STREAM needs no window, but libnghttp2 waits for one.
TEST_P(ConnectionEnds, TheEndOfABodyNeedsNoWindow) {
  if (GetParam() == Http2Implementation::nghttp2) GTEST_SKIP() << "libnghttp2 waits for a window";
  add_streamed({"abc"}, 3);
  begin(request(1, "GET", "/streamed", true), {{4, 3}});
  EXPECT_TRUE(says("data1:0;"));
  transport_.end();
}

// RFC 9113, 6.5.3.
TEST_P(ConnectionEnds, SettingsAreToBeAcknowledgedInTime) {
  open();
  transport_.arrive(opening());
  engine_.time_ms += limits_.settings_ack_ms_max - 1;
  transport_.arrive(ping());
  EXPECT_FALSE(says("goaway"));
  engine_.time_ms += 1;
  transport_.arrive(ping());
  EXPECT_TRUE(says("goaway0=4"));
  transport_.end();
  EXPECT_TRUE(over());
}

TEST_P(ConnectionEnds, SettingsAreToBeAcknowledgedBySilentClients) {
  open();
  transport_.arrive(opening());
  engine_.time_ms += limits_.settings_ack_ms_max;
  transport_.fail(ETIMEDOUT);
  EXPECT_TRUE(says("goaway0=4"));
  transport_.end();
  EXPECT_TRUE(over());
}

INSTANTIATE_TEST_SUITE_P(, ConnectionEnds,
                         testing::Values(Http2Implementation::native, Http2Implementation::nghttp2),
                         name_of_parameter);

}  // namespace connection_ends_test
}  // namespace h2server::http::h2
