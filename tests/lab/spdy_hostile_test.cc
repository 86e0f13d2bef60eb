#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "spdy/session.h"
#include "spdy_host.h"

namespace h2server::lab::spdy {
namespace spdy_hostile_test {

struct Row {
  const char* what;
  std::string (*bytes)(SpdyHost& host);
  std::string sent;  // what the session answers
  std::string log = "";
};

std::string ping_of(std::size_t size) {
  return control(FrameType::ping, 0, std::string(size, 'x'));
}

// SPDY, 2.4.1.
const std::vector<Row> session_errors = {
    {"another version", [](SpdyHost&) { return control(6, 0, u32(1), 2); }, "goaway 0 1\n"},
    {"HTTP/1.1", [](SpdyHost&) { return std::string("GET / HTTP/1.1\r\n\r\n"); }, "goaway 0 1\n"},
    {"HTTP/2", [](SpdyHost&) { return std::string(h2::preface); }, "goaway 0 1\n"},
    {"data of stream 0", [](SpdyHost&) { return settings({}) + data(0, 0, "x"); }, "goaway 0 1\n"},
    {"no data of stream 0", [](SpdyHost&) { return settings({}) + data(0, 0, ""); },
     "goaway 0 1\n"},
    {"a short SYN_STREAM",
     [](SpdyHost&) { return control(FrameType::syn_stream, 1, std::string(9, '\1')); },
     "goaway 0 1\n"},
    {"an empty SYN_STREAM", [](SpdyHost&) { return control(FrameType::syn_stream, 1, ""); },
     "goaway 0 1\n"},
    {"stream 0", [](SpdyHost& host) { return host.syn_stream(0); }, "goaway 0 1\n"},
    {"an even stream", [](SpdyHost& host) { return host.syn_stream(2); }, "goaway 0 1\n"},
    {"a stream that goes backwards",
     [](SpdyHost& host) { return all_of({host.syn_stream(5), host.syn_stream(3)}); },
     "goaway 5 1\n", "5 GET /\n"},
    {"SYN_REPLY", [](SpdyHost&) { return control(FrameType::syn_reply, 0, u32(1)); },
     "goaway 0 1\n"},
    {"a short RST_STREAM", [](SpdyHost&) { return control(FrameType::rst_stream, 0, u32(1)); },
     "goaway 0 1\n"},
    {"a long RST_STREAM",
     [](SpdyHost&) { return control(FrameType::rst_stream, 0, u32(1) + u32(1) + "x"); },
     "goaway 0 1\n"},
    {"RST_STREAM of stream 0", [](SpdyHost&) { return rst_stream(0, 1); }, "goaway 0 1\n"},
    {"short SETTINGS", [](SpdyHost&) { return control(FrameType::settings, 0, "abc"); },
     "goaway 0 1\n"},
    {"fewer SETTINGS than said",
     [](SpdyHost&) { return control(FrameType::settings, 0, u32(2) + u32(7) + u32(1)); },
     "goaway 0 1\n"},
    {"a huge initial window", [](SpdyHost&) { return settings({{7, 0x80000000}}); },
     "goaway 0 7\n"},
    {"an initial window that overflows a stream's",
     [](SpdyHost& host) {
       return host.syn_stream(1, get, 0) + window_update(1, 0x7fff0000 - 65'536) +
              settings({{7, 0x7fffffff}});
     },
     "goaway 1 7\n", "1 GET /\n"},
    {"a short PING", [](SpdyHost&) { return ping_of(3); }, "goaway 0 1\n"},
    {"a long PING", [](SpdyHost&) { return ping_of(5); }, "goaway 0 1\n"},
    {"a short GOAWAY", [](SpdyHost&) { return control(FrameType::goaway, 0, u32(1)); },
     "goaway 0 1\n"},
    {"a short WINDOW_UPDATE",
     [](SpdyHost&) { return control(FrameType::window_update, 0, u32(0)); }, "goaway 0 1\n"},
    {"no increment", [](SpdyHost&) { return window_update(0, 0); }, "goaway 0 1\n"},
    {"the connection's window overflows", [](SpdyHost&) { return window_update(0, 0x7fffffff); },
     "goaway 0 7\n"},
    {"short HEADERS", [](SpdyHost&) { return control(FrameType::headers, 0, "abc"); },
     "goaway 0 1\n"},
    {"HEADERS of stream 0", [](SpdyHost& host) { return host.headers(0, get, 0); }, "goaway 0 1\n"},
    {"a block that is no zlib",
     [](SpdyHost&) {
       return control(FrameType::syn_stream, 1, u32(1) + u32(0) + std::string(2, '\0') + "garbage");
     },
     "goaway 0 1\n"},
    {"HEADERS of a closed stream that are no zlib",
     [](SpdyHost&) { return control(FrameType::headers, 0, u32(1) + "garbage"); }, "goaway 0 1\n"},
    {"a frame that is too large",
     [](SpdyHost&) { return control(FrameType::syn_stream, 1, std::string(64 * 1024 + 1, 'x')); },
     "goaway 0 1\n"},
    {"a header bomb",
     [](SpdyHost& host) { return host.syn_stream(1, with(get, "a", std::string(1'000'000, 'a'))); },
     "goaway 0 1\n"},
    {"a header bomb of many fields",
     [](SpdyHost& host) {
       Pairs pairs = get;
       for (int i = 0; i < 10'000; ++i) pairs.emplace_back("n" + std::to_string(i), "");
       return host.syn_stream(1, pairs);
     },
     "goaway 1 1\n"},
};

TEST(SpdySessionErrors, EndTheSession) {
  for (const Row& row : session_errors) {
    for (const std::size_t step : {std::size_t{1}, SIZE_MAX}) {
      SpdyHost host;
      EXPECT_FALSE(host.receive(row.bytes(host), step)) << row.what;
      EXPECT_TRUE(host.session->finished()) << row.what;
      EXPECT_NE(host.session->error().code, 0U) << row.what;
      EXPECT_EQ(host.log, row.log) << row.what;
      EXPECT_EQ(host.take(), row.sent) << row.what;
    }
  }
}

const char* const bad_request = "reply 1 fin :status=400 server=h2server :version=HTTP/1.1\n";

std::string request_with(SpdyHost& host, const std::string& name, const std::string& value) {
  return host.syn_stream(1, with(get, name, value));
}

// SPDY, 2.4.2. The session goes on.
const std::vector<Row> stream_errors = {
    {"a second SYN_STREAM",
     [](SpdyHost& host) { return all_of({host.syn_stream(1), host.syn_stream(1)}); }, "reset 1 1\n",
     "1 GET /\n1 closed\n"},
    {"an associated stream", [](SpdyHost& host) { return host.syn_stream(1, get, 1, 3); },
     "reset 1 1\n"},
    {"a unidirectional stream",
     [](SpdyHost& host) { return host.syn_stream(1, get, flag::unidirectional); }, "reset 1 1\n"},
    {"a name in upper case", [](SpdyHost& host) { return request_with(host, "A", "b"); },
     "reset 1 1\n"},
    {"an empty name", [](SpdyHost& host) { return request_with(host, "", "b"); }, "reset 1 1\n"},
    {"a name twice", [](SpdyHost& host) { return request_with(host, ":path", "/2"); },
     "reset 1 1\n"},
    {"a line break in a value", [](SpdyHost& host) { return request_with(host, "a", "b\r\nc"); },
     "reset 1 1\n"},
    {"NUL at the end of a value",
     [](SpdyHost& host) { return request_with(host, "a", std::string("b\0", 2)); }, "reset 1 1\n"},
    {"the field Host", [](SpdyHost& host) { return request_with(host, "host", "h"); },
     "reset 1 1\n"},
    {"the field Connection", [](SpdyHost& host) { return request_with(host, "connection", "x"); },
     "reset 1 1\n"},
    {"the field Transfer-Encoding",
     [](SpdyHost& host) { return request_with(host, "transfer-encoding", "chunked"); },
     "reset 1 1\n"},
    {"HTTP/2's name of the host",
     [](SpdyHost& host) { return request_with(host, ":authority", "h"); }, "reset 1 1\n"},
    {"an unknown special name", [](SpdyHost& host) { return request_with(host, ":x", "y"); },
     "reset 1 1\n"},
    {"a bad version",
     [](SpdyHost& host) {
       return host.syn_stream(1, with(without(get, ":version"), ":version", "x"));
     },
     "reset 1 1\n"},
    {"no method", [](SpdyHost& host) { return host.syn_stream(1, without(get, ":method")); },
     bad_request},
    {"no path", [](SpdyHost& host) { return host.syn_stream(1, without(get, ":path")); },
     bad_request},
    {"no version", [](SpdyHost& host) { return host.syn_stream(1, without(get, ":version")); },
     bad_request},
    {"no host", [](SpdyHost& host) { return host.syn_stream(1, without(get, ":host")); },
     bad_request},
    {"no scheme, and content",
     [](SpdyHost& host) {
       return host.syn_stream(1, without(get, ":scheme"), 0) + data(1, 1, "x");
     },
     bad_request},
    {"a length without content",
     [](SpdyHost& host) { return request_with(host, "content-length", "5"); }, bad_request},
    {"less content than declared",
     [](SpdyHost& host) {
       return host.syn_stream(1, with(get, "content-length", "5"), 0) + data(1, 1, "abcd");
     },
     "reset 1 1\n", "1 GET /\n1 data abcd\n1 closed\n"},
    {"more content than declared",
     [](SpdyHost& host) {
       return host.syn_stream(1, with(get, "content-length", "5"), 0) + data(1, 1, "abcdef");
     },
     "reset 1 1\n", "1 GET /\n1 closed\n"},
    {"data after the end", [](SpdyHost& host) { return host.syn_stream(1) + data(1, 0, "x"); },
     "reset 1 9\n", "1 GET /\n1 closed\n"},
    {"an empty data frame after the end",
     [](SpdyHost& host) { return host.syn_stream(1) + data(1, 0, ""); }, "reset 1 9\n",
     "1 GET /\n1 closed\n"},
    {"HEADERS after the end",
     [](SpdyHost& host) { return all_of({host.syn_stream(1), host.headers(1, {{"a", "b"}}, 0)}); },
     "reset 1 9\n", "1 GET /\n1 closed\n"},
    {"special names in HEADERS",
     [](SpdyHost& host) { return all_of({host.syn_stream(1, get, 0), host.headers(1, get, 0)}); },
     "reset 1 1\n", "1 GET /\n1 closed\n"},
    {"data of a stream that was never opened",
     [](SpdyHost&) { return settings({}) + data(7, 0, "x"); }, "reset 7 2\n"},
    {"HEADERS of a stream that was never opened",
     [](SpdyHost& host) { return host.headers(7, {{"a", "b"}}, 0); }, "reset 7 2\n"},
    {"data of a stream that the client has reset, twice",
     [](SpdyHost& host) {
       return host.syn_stream(1, get, 0) + rst_stream(1, 5) + data(1, 0, "x") + data(1, 0, "y");
     },
     "reset 1 1\n", "1 GET /\n1 closed\n"},
    {"no increment of a stream",
     [](SpdyHost& host) { return host.syn_stream(1) + window_update(1, 0); }, "reset 1 1\n",
     "1 GET /\n1 closed\n"},
    {"a stream's window overflows",
     [](SpdyHost& host) { return host.syn_stream(1) + window_update(1, 0x7fffffff); },
     "reset 1 7\n", "1 GET /\n1 closed\n"},
    // Nothing to object to.
    {"frames of unknown types", [](SpdyHost&) { return control(5, 0, "") + control(10, 0, "abc"); },
     ""},
    {"RST_STREAM of a stream that was never opened", [](SpdyHost&) { return rst_stream(9, 1); },
     ""},
    {"WINDOW_UPDATE of a stream that was never opened",
     [](SpdyHost&) { return window_update(9, 1); }, ""},
};

TEST(SpdyStreamErrors, LeaveTheSession) {
  for (const Row& row : stream_errors) {
    for (const std::size_t step : {std::size_t{1}, SIZE_MAX}) {
      SpdyHost host;
      EXPECT_TRUE(host.receive(row.bytes(host), step)) << row.what;
      if (step > 1) {  // byte by byte, there is an event for each byte of content
        EXPECT_EQ(host.log, row.log) << row.what;
      }
      EXPECT_EQ(host.take(), row.sent) << row.what;
      host.log.clear();
      EXPECT_TRUE(host.receive(host.syn_stream(99))) << row.what;
      EXPECT_EQ(host.log, "99 GET /\n") << row.what;
    }
  }
}

TEST(SpdyStreamErrors, AHeadThatIsTooLargeIsMarked) {
  SpdyHost host({.head_bytes_max = 1000});
  ASSERT_TRUE(host.receive(request_with(host, "a", std::string(1500, 'x'))));
  EXPECT_TRUE(host.exchange(1).session.head_too_large);
}

TEST(SpdyStreamErrors, MoreStreamsThanAllowedAreRefused) {
  SpdyHost host({.streams_max = 2});
  ASSERT_TRUE(host.receive(all_of(
      {host.syn_stream(1), host.syn_stream(3), host.syn_stream(5, get, 0), data(5, 1, "x")})));
  EXPECT_EQ(host.log, "1 GET /\n3 GET /\n");
  EXPECT_EQ(host.take(), "reset 5 3\n");
  host.respond(1);
  host.take();
  ASSERT_TRUE(host.receive(host.syn_stream(7)));  // its block follows the refused one
  EXPECT_TRUE(host.log.ends_with("7 GET /\n"));
}

TEST(SpdyStreamErrors, AStreamBeyondItsWindowIsReset) {
  SpdyHost host({.stream_window_bytes = 65'536});
  host.take();
  host.consumes = false;
  ASSERT_TRUE(host.receive(host.syn_stream(1, get, 0) + data(1, 0, std::string(65'536, 'a'))));
  ASSERT_TRUE(host.receive(data(1, 0, "a")));
  EXPECT_EQ(host.take(), "reset 1 7\n");
}

// --- floods -----------------------------------------------------------------------------------

// Repeats what `step` makes until the session fails. Returns how often.
template <class Step>
int repeat(SpdyHost& host, Step step) {
  int count = 0;
  while (count < 100'000 && host.receive(step(count))) {
    host.take();
    ++count;
  }
  return count;
}

TEST(SpdyFloods, ResetsHaveALimit) {
  SpdyHost host;
  const int count = repeat(host, [&host](int i) {
    const auto id = static_cast<std::uint32_t>(2 * i + 1);
    return host.syn_stream(id) + rst_stream(id, 5);
  });
  EXPECT_EQ(count, static_cast<int>(host.limits.resets_max));
  EXPECT_EQ(host.session->error().flood, http::ConnectionError::Flood::resets);
}

TEST(SpdyFloods, StreamsThatTheServerMustResetHaveALimit) {
  SpdyHost host;
  const int count = repeat(host, [&host](int i) {
    return host.syn_stream(static_cast<std::uint32_t>(2 * i + 1), with(get, "A", "b"));
  });
  EXPECT_EQ(count, static_cast<int>(host.limits.resets_max));
}

TEST(SpdyFloods, BadRequestsHaveALimit) {
  SpdyHost host;
  const int count = repeat(host, [&host](int i) {
    return host.syn_stream(static_cast<std::uint32_t>(2 * i + 1), without(get, ":host"));
  });
  EXPECT_EQ(count, static_cast<int>(host.limits.resets_max));
}

TEST(SpdyFloods, FramesThatMakeNoProgressHaveALimit) {
  const std::vector<std::string> frames = {control(FrameType::ping, 0, u32(1)),
                                           settings({}),
                                           control(77, 0, ""),
                                           goaway(0, 0),
                                           rst_stream(9, 1),
                                           window_update(9, 1),
                                           control(FrameType::ping, 0, u32(4))};
  for (const std::string& frame : frames) {
    SpdyHost host;
    const int count = repeat(host, [&frame](int) { return frame; });
    EXPECT_EQ(count, static_cast<int>(host.limits.idle_frames_max));
    EXPECT_EQ(host.session->error().flood, http::ConnectionError::Flood::idle_frames);
  }
}

TEST(SpdyFloods, EmptyDataHasALimit) {
  SpdyHost host;
  ASSERT_TRUE(host.receive(host.syn_stream(1, get, 0)));
  const int count = repeat(host, [](int) { return data(1, 0, ""); });
  EXPECT_LT(count, 3000);
}

TEST(SpdyFloods, AClientThatDoesNotReadIsLeft) {
  SpdyHost host({.unread_bytes_max = 5000});
  std::string pings;
  for (int i = 0; i < 1000; ++i) pings += control(FrameType::ping, 0, u32(1));
  EXPECT_FALSE(host.receive(pings));
}

}  // namespace spdy_hostile_test
}  // namespace h2server::lab::spdy
