// How an HTTP/2 connection and its streams end: by silence, by the peer, under handlers that wait.
#include "http/h2/connection_fixture.h"
#include "http/h2/frames.h"

namespace h2server::http::h2 {
namespace {

class ConnectionEnds : public ConnectionFixture {
 protected:
  static std::string request(std::uint32_t id, const char* method, const char* path, bool ends) {
    const FieldList fields = {
        {":method", method}, {":scheme", "http"}, {":path", path}, {":authority", "a"}};
    return headers(id, block(fields), ends ? whole : int{flag::end_headers});
  }
  void begin(std::string_view more, const SettingsList& settings = {}) {
    open();
    stream_.arrive(opening(settings) + settings_ack() + std::string(more));
  }
  std::string said() { return describe(read_writes()); }
  bool says(std::string_view what) {
    const std::string text = said();
    return text.find(what) != std::string::npos;
  }
};

// One that is told that its client has left wakes another one, which answers: neither the session
// nor a transfer that is gone may be asked for anything.
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
  stream_.end();
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
  stream_.end();
}

// An END_STREAM needs no window. (libnghttp2 waits for one.)
TEST_P(ConnectionEnds, AnEmptyProducedBodyNeedsNoWindow) {
  if (GetParam() == Implementation::nghttp2) GTEST_SKIP() << "libnghttp2 waits for a window";
  add_streamed({});
  begin(request(1, "GET", "/streamed", true), {{4, 0}});
  EXPECT_TRUE(says("data1:0;"));
  stream_.end();
}

// The client has nothing to say, since its windows are large, but takes what we say.
TEST_P(ConnectionEnds, SilenceIsNoEndWhileAWriteIsUnderWay) {
  add(GET, "/big", [](Request&) { return Response(200, std::string(200'000, 'x')); });
  begin("");
  stream_.takes_nothing = true;
  stream_.arrive(request(1, "GET", "/big", true));
  stream_.fail(ETIMEDOUT);
  EXPECT_FALSE(over());
  engine_.time_ms += 2 * limits_.idle_ms_max;
  stream_.takes_nothing = false;
  stream_.takes.set();
  stream_.arrive(ping());  // the write that has ended just now counts, not when it began
  EXPECT_FALSE(says("goaway"));
  stream_.fail(ETIMEDOUT);
  EXPECT_TRUE(says("goaway1=0"));
  stream_.end();
  EXPECT_TRUE(over());
}

// PINGs do not keep a stream that gets nowhere.
TEST_P(ConnectionEnds, PingsKeepNoStreamAlive) {
  if (GetParam() == Implementation::nghttp2) {
    GTEST_SKIP() << "libnghttp2 answers PINGs where bodies are sent, which looks like progress";
  }
  begin(request(1, "POST", "/echo", false));
  for (int i = 0; i < 5 && !over(); ++i) {
    engine_.time_ms += limits_.idle_ms_max / 3;
    stream_.arrive(ping());
  }
  stream_.end();
  EXPECT_TRUE(over());
  EXPECT_TRUE(says("goaway"));
}

TEST_P(ConnectionEnds, PingsKeepAConnectionWithoutStreams) {
  begin("");
  for (int i = 0; i < 5; ++i) {
    engine_.time_ms += limits_.idle_ms_max / 3;
    stream_.arrive(ping());
    ASSERT_FALSE(over());
  }
  stream_.end();
}

// RFC 9113, 6.5.3.
TEST_P(ConnectionEnds, SettingsAreToBeAcknowledgedInTime) {
  open();
  stream_.arrive(opening());
  engine_.time_ms += limits_.settings_ack_ms_max - 1;
  stream_.arrive(ping());
  EXPECT_FALSE(says("goaway"));
  engine_.time_ms += 1;
  stream_.arrive(ping());
  EXPECT_TRUE(says("goaway0=4"));
  stream_.end();
  EXPECT_TRUE(over());
}

TEST_P(ConnectionEnds, SettingsAreToBeAcknowledgedBySilentClients) {
  open();
  stream_.arrive(opening());
  engine_.time_ms += limits_.settings_ack_ms_max;
  stream_.fail(ETIMEDOUT);
  EXPECT_TRUE(says("goaway0=4"));
  stream_.end();
  EXPECT_TRUE(over());
}

INSTANTIATE_TEST_SUITE_P(, ConnectionEnds,
                         testing::Values(Implementation::native, Implementation::nghttp2),
                         name_of_parameter);

}  // namespace
}  // namespace h2server::http::h2
