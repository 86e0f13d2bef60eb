// Tests frames that the native session receives: malformed ones (RFC 9113, 6), and each type in
// each stream state (5.1). Rows arrive whole and byte by byte.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "http/h2/frames.h"
#include "http/h2/session_host.h"

namespace h2server::http::h2 {
namespace native_frames_test {

constexpr std::size_t steps[] = {SIZE_MAX, 1};

struct NativeFrames : testing::Test {
  // Opens a connection, receives `bytes`, and discards the output and the events so far.
  void begin(const std::string& bytes = opening()) {
    host.open();
    ASSERT_TRUE(host.receive(bytes));
    host.take();
    host.log.clear();
  }
  // Returns the frames that the session sends after `bytes`, then its events, for example
  // "reset1=1 [1 closed;]".
  std::string answer(const std::string& bytes, std::size_t step) {
    host.receive(bytes, step);
    std::string text = describe(host.take());
    if (!host.log.empty()) text += (text.empty() ? "" : " ") + ("[" + host.log + "]");
    for (char& c : text) {
      if (c == '\n') c = ';';
    }
    return text;
  }

  SessionHost host{Http2Implementation::native};
};

struct Row {
  const char* what;
  std::string bytes;
  std::string answer;
};

TEST_F(NativeFrames, BeginWithThePrefaceAndSettings) {
  const std::string magic(preface);
  const std::vector<Row> rows = {
      {"a wrong preface", "GET / HTTP/1.1\r\n\r\n", "goaway0=1"},
      {"a part of one", magic.substr(0, 10), ""},
      {"nothing behind it", magic, ""},
      {"wrong in its last byte", magic.substr(0, 23) + "x", "goaway0=1"},
      {"SETTINGS", magic + settings_frame(), "settingsack"},
      {"an acknowledgement", magic + settings_ack(), "goaway0=1"},
      {"PING", magic + ping(), "goaway0=1"},
      {"a request", magic + get(1), "goaway0=1"},
      {"an unknown frame", magic + frame(static_cast<FrameType>(0x77), 0, 0), "goaway0=1"},
  };
  for (const Row& row : rows) {
    for (const std::size_t step : steps) {
      SCOPED_TRACE(row.what);
      host.open();
      EXPECT_EQ(describe(host.take()), "settings window+2031617");
      EXPECT_EQ(answer(row.bytes, step), row.answer);
    }
  }
}

const auto unknown = static_cast<FrameType>(0x0b);

std::vector<Row> malformed_frames() {
  const std::string eight(8, 'x');
  return {
      {"DATA on the connection", data(0, "abc"), "goaway1=1"},
      {"DATA without the size of its padding", frame(FrameType::data, flag::padded, 1),
       "goaway1=6"},
      {"DATA, nothing but padding", padded_data(1, "", 5), ""},
      {"DATA, padding as long as the frame", frame(FrameType::data, flag::padded, 1, "\x03xx"),
       "goaway1=1"},
      {"DATA, longer padding", frame(FrameType::data, flag::padded, 1, "\xffxx"), "goaway1=1"},
      {"DATA, 16 KiB", data(1, std::string(16384, 'x')), "[1 data;]"},
      {"DATA, a byte more", data(1, std::string(16385, 'x')), "goaway1=6"},
      {"HEADERS on the connection", headers(0, request_block()), "goaway1=1"},
      {"HEADERS on a server's stream", headers(2, request_block()), "goaway1=1"},
      {"HEADERS without the size of its padding",
       frame(FrameType::headers, whole | flag::padded, 3), "goaway1=6"},
      {"HEADERS, too much padding", frame(FrameType::headers, whole | flag::padded, 3, "\x05xxxx"),
       "goaway1=1"},
      {"HEADERS, too short for a priority",
       frame(FrameType::headers, whole | flag::priority, 3, "xxxx"), "goaway1=6"},
      {"HEADERS that depend on themselves",
       frame(FrameType::headers, whole | flag::priority, 3, u32(3) + "\x10" + request_block()),
       "goaway1=1"},
      {"HEADERS with a priority and padding",
       frame(FrameType::headers, whole | flag::priority | flag::padded, 3,
             "\x02" + u32(1) + "\x10" + request_block() + "xx"),
       "[3 GET /;]"},
      {"HEADERS with nothing", headers(3, ""), "reset3=1"},
      {"HEADERS of no HPACK", headers(3, "\xff\xff\xff\xff\xff\xff"), "goaway3=9"},
      {"PRIORITY on the connection", priority_frame(0), "goaway1=1"},
      {"PRIORITY, too short", frame(FrameType::priority, 0, 3, "xxxx"), "goaway1=6"},
      {"PRIORITY, too long", frame(FrameType::priority, 0, 3, "xxxxxx"), "goaway1=6"},
      {"PRIORITY on itself", priority_frame(3, 3), "goaway1=1"},
      {"PRIORITY on a server's stream", priority_frame(2), ""},
      {"RST_STREAM on the connection", frame(FrameType::rst_stream, 0, 0, u32(8)), "goaway1=1"},
      {"RST_STREAM, too short", frame(FrameType::rst_stream, 0, 1, "xxx"), "goaway1=6"},
      {"RST_STREAM, too long", frame(FrameType::rst_stream, 0, 1, "xxxxx"), "goaway1=6"},
      {"RST_STREAM of an unknown code", rst_stream(1, static_cast<ErrorCode>(999)), "[1 closed;]"},
      {"SETTINGS on a stream", frame(FrameType::settings, 0, 1), "goaway1=1"},
      {"SETTINGS, cut", frame(FrameType::settings, 0, 0, "xxxxx"), "goaway1=6"},
      {"an acknowledgement with settings", frame(FrameType::settings, flag::ack, 0, "xxxxxx"),
       "goaway1=6"},
      {"ENABLE_PUSH 2", settings_frame({{2, 2}}), "goaway1=1"},
      {"INITIAL_WINDOW_SIZE 2^31", settings_frame({{4, 0x8000'0000U}}), "goaway1=3"},
      {"INITIAL_WINDOW_SIZE 2^31-1", settings_frame({{4, 0x7fff'ffffU}}), "settingsack"},
      {"MAX_FRAME_SIZE 16383", settings_frame({{5, 16383}}), "goaway1=1"},
      {"MAX_FRAME_SIZE 2^24", settings_frame({{5, 1 << 24}}), "goaway1=1"},
      {"MAX_FRAME_SIZE 2^24-1", settings_frame({{5, (1 << 24) - 1}}), "settingsack"},
      {"NO_RFC7540_PRIORITIES 2", settings_frame({{9, 2}}), "goaway1=1"},
      {"unknown settings", settings_frame({{0xff, 7}, {0, 0}, {0xffff, 0xffff'ffffU}}),
       "settingsack"},
      {"an acknowledgement of nothing", settings_ack() + settings_ack(), ""},
      {"PUSH_PROMISE", frame(FrameType::push_promise, flag::end_headers, 1, u32(2)), "goaway1=1"},
      {"PING", ping(), "pingack"},
      {"PING on a stream", frame(FrameType::ping, 0, 1, eight), "goaway1=1"},
      {"PING, too short", ping("1234567"), "goaway1=6"},
      {"PING, too long", ping("123456789"), "goaway1=6"},
      {"an answer to no PING", ping(eight, flag::ack), ""},
      {"GOAWAY on a stream", frame(FrameType::goaway, 0, 1, eight), "goaway1=1"},
      {"GOAWAY, too short", frame(FrameType::goaway, 0, 0, "1234567"), "goaway1=6"},
      {"GOAWAY with more", goaway(0, "debug data"), ""},
      {"WINDOW_UPDATE, too short", frame(FrameType::window_update, 0, 0, "xxx"), "goaway1=6"},
      {"WINDOW_UPDATE, too long", frame(FrameType::window_update, 0, 1, "xxxxx"), "goaway1=6"},
      {"WINDOW_UPDATE 0 on the connection", window_update(0, 0), "goaway1=1"},
      {"WINDOW_UPDATE 0", window_update(1, 0), "reset1=1 [1 closed;]"},
      {"WINDOW_UPDATE, the reserved bit", window_update(1, 0x8000'0001U), ""},
      {"WINDOW_UPDATE 0, the reserved bit", window_update(1, 0x8000'0000U), "reset1=1 [1 closed;]"},
      {"CONTINUATION of nothing", continuation(1, "", true), "goaway1=1"},
      {"CONTINUATION on the connection", continuation(0, "", true), "goaway1=1"},
      {"PRIORITY_UPDATE on a stream", frame(FrameType::priority_update, 0, 1, u32(1)), "goaway1=1"},
      {"PRIORITY_UPDATE, too short", frame(FrameType::priority_update, 0, 0, "xxx"), "goaway1=6"},
      {"PRIORITY_UPDATE of the connection", priority_update(0, "u=1"), "goaway1=1"},
      {"PRIORITY_UPDATE of a server's stream", priority_update(2, "u=1"), "goaway1=1"},
      {"PRIORITY_UPDATE of garbage", priority_update(1, "=,;\"\\"), ""},
      {"an unknown frame", frame(unknown, 0xff, 77, "anything"), ""},
      {"an unknown frame that is too large", frame(unknown, 0, 0, std::string(16385, 'x')),
       "goaway1=6"},
  };
}

// Each row arrives while stream 1 is open.
TEST_F(NativeFrames, AreRefusedWhereTheyAreMalformed) {
  for (const Row& row : malformed_frames()) {
    for (const std::size_t step : steps) {
      SCOPED_TRACE(row.what);
      begin(opening() + post(1));
      EXPECT_EQ(answer(row.bytes, step), row.answer);
      EXPECT_EQ(host.session->failed(), row.answer.starts_with("goaway"));
    }
  }
}

// RFC 9113, 4.1: the reserved bit and undefined flags are ignored.
TEST_F(NativeFrames, MayHaveUnusedBitsSet) {
  const int other = 0xff & ~(flag::ack | flag::end_headers | flag::padded | flag::priority);
  const std::vector<Row> rows = {
      {"DATA", frame(FrameType::data, other & ~flag::end_stream, 1, "x"), "[1 data;]"},
      {"HEADERS", headers(3, request_block(), other | whole), "[3 GET /;]"},
      {"PRIORITY", frame(FrameType::priority, 0xff, 3, u32(0) + "x"), ""},
      {"RST_STREAM", frame(FrameType::rst_stream, 0xff, 1, u32(8)), "[1 closed;]"},
      {"SETTINGS", frame(FrameType::settings, other & ~flag::ack, 0), "settingsack"},
      {"PING", frame(FrameType::ping, 0xff & ~flag::ack, 0, "12345678"), "pingack"},
      {"WINDOW_UPDATE", frame(FrameType::window_update, 0xff, 1, u32(1)), ""},
  };
  for (const Row& row : rows) {
    for (const std::size_t step : steps) {
      SCOPED_TRACE(row.what);
      begin(opening() + post(1));
      std::string bytes = row.bytes;
      bytes[5] = static_cast<char>(bytes[5] | 0x80);  // the reserved bit
      EXPECT_EQ(answer(bytes, step), row.answer);
    }
  }
}

// RFC 9113, 6.10: only CONTINUATION on the same stream may follow incomplete HEADERS.
TEST_F(NativeFrames, DoNotInterruptAFieldBlock) {
  const std::string fields = request_block();
  const std::string start = headers(3, fields.substr(0, 10), flag::end_stream);
  const std::vector<Row> rows = {
      {"the rest", continuation(3, fields.substr(10), true), "[3 GET /;]"},
      {"in three",
       continuation(3, fields.substr(10, 1), false) + continuation(3, "", false) +
           continuation(3, fields.substr(11), true),
       "[3 GET /;]"},
      {"of another stream", continuation(1, fields.substr(10), true), "goaway1=1"},
      {"DATA", data(1, "x"), "goaway1=1"},
      {"HEADERS", get(3), "goaway1=1"},
      {"PRIORITY", priority_frame(3), "goaway1=1"},
      {"PING", ping(), "goaway1=1"},
      {"SETTINGS", settings_frame(), "goaway1=1"},
      {"an unknown frame", frame(unknown, 0, 3), "goaway1=1"},
  };
  for (const Row& row : rows) {
    for (const std::size_t step : steps) {
      SCOPED_TRACE(row.what);
      begin(opening() + post(1));
      EXPECT_EQ(answer(start + row.bytes, step), row.answer);
    }
  }
}

// --- states -----------------------------------------------------------------------------------

enum State { idle, skipped, open, half_remote, half_local, ended, reset_by_us, reset_by_peer };

struct StateRow {
  const char* what;
  std::string bytes;  // on stream 1
  std::string answers[8];
};

std::vector<StateRow> state_rows() {
  const std::string proto = "goaway1=1";
  const std::string closed = "goaway1=5";
  const std::string bad = "reset1=1 [1 closed;]";
  const std::string gone = "[1 closed;]";
  const std::string unused = "goaway0=1";
  const std::string passed = "goaway3=1";
  const std::string trailers = block({{"t", "u"}});
  // In the order of State.
  return {
      {"DATA",
       data(1, "x"),
       {unused, passed, "[1 data;]", closed, "[1 data;]", closed, "", closed}},
      {"DATA, the last",
       data(1, "x", true),
       {unused, passed, "[1 data;1 ended;]", closed, "[1 data;1 closed;]", closed, "", closed}},
      {"DATA, empty and the last",
       data(1, "", true),
       {unused, passed, "[1 ended;]", closed, gone, closed, "", closed}},
      {"trailers",
       headers(1, trailers),
       {"reset1=1", passed, "[1 ended;]", closed, gone, closed, "", closed}},
      {"HEADERS that end nothing",
       headers(1, trailers, flag::end_headers),
       {"reset1=1", passed, bad, closed, bad, closed, "", closed}},
      {"PRIORITY", priority_frame(1), {"", "", "", "", "", "", "", ""}},
      {"PRIORITY_UPDATE", priority_update(1, "u=1"), {"", "", "", "", "", "", "", ""}},
      {"RST_STREAM", rst_stream(1), {unused, "", gone, gone, gone, "", "", ""}},
      {"WINDOW_UPDATE", window_update(1, 1), {unused, "", "", "", "", "", "", ""}},
      {"WINDOW_UPDATE 0", window_update(1, 0), {unused, "", bad, bad, bad, "", "", ""}},
      {"WINDOW_UPDATE, too much",
       window_update(1, 0x7fff'ffff),
       {unused, "", "reset1=3 [1 closed;]", "reset1=3 [1 closed;]", "reset1=3 [1 closed;]", "", "",
        ""}},
      {"PUSH_PROMISE",
       frame(FrameType::push_promise, flag::end_headers, 1, u32(2)),
       {unused, passed, proto, proto, proto, proto, proto, proto}},
      {"CONTINUATION",
       continuation(1, "", true),
       {unused, passed, proto, proto, proto, proto, proto, proto}},
      {"an unknown frame", frame(unknown, 0, 1, "x"), {"", "", "", "", "", "", "", ""}},
  };
}

TEST_F(NativeFrames, MeanWhatTheStreamsStateSays) {
  for (const StateRow& row : state_rows()) {
    for (int state = idle; state <= reset_by_peer; ++state) {
      for (const std::size_t step : steps) {
        SCOPED_TRACE(std::string(row.what) + " in state " + std::to_string(state));
        begin(state == idle ? opening() : opening() + (state == skipped ? get(3) : ""));
        if (state == open || state >= half_local) host.receive(post(1));
        if (state == half_remote) host.receive(get(1));
        if (state == half_local || state == ended) host.respond(1);
        if (state == ended) host.receive(data(1, "", true));
        if (state == reset_by_us) host.session->reset(host.exchange(1), ErrorCode::cancel);
        if (state == reset_by_peer) host.receive(rst_stream(1));
        host.note_events();
        host.take();
        host.log.clear();
        EXPECT_EQ(answer(row.bytes, step), row.answers[state]);
      }
    }
  }
}

// RFC 9113, 5.1.1: the use of an identifier closes lower ones that are idle.
TEST_F(NativeFrames, ComeOnIdentifiersThatGrow) {
  struct IdRow {
    std::vector<std::uint32_t> ids;
    std::string answer;
  };
  const std::vector<IdRow> rows = {
      {{1, 3, 5}, "[1 GET /;3 GET /;5 GET /;]"},
      {{1, 101, 103}, "[1 GET /;101 GET /;103 GET /;]"},
      {{0x7fff'ffff}, "[2147483647 GET /;]"},
      {{3, 1}, "goaway3=1 [3 GET /;]"},
      {{5, 9, 7}, "goaway9=1 [5 GET /;9 GET /;]"},
      {{1, 127, 3}, "goaway127=1 [1 GET /;127 GET /;]"},
      {{1, 1001, 3}, "[1 GET /;1001 GET /;]"},  // forgotten: it may have been reset
  };
  for (const IdRow& row : rows) {
    for (const std::size_t step : steps) {
      SCOPED_TRACE(row.answer);
      begin();
      std::string bytes;
      for (const std::uint32_t id : row.ids) bytes += get(id);
      EXPECT_EQ(answer(bytes, step), row.answer);
    }
  }
}

// RFC 9113, 5.1.2.
TEST_F(NativeFrames, OpenNoMoreStreamsThanAllowed) {
  host.limits.streams_max = 2;
  for (const std::size_t step : steps) {
    begin();
    EXPECT_EQ(answer(post(1) + post(3) + post(5), step), "reset5=7 [1 POST /;3 POST /;]");
    host.log.clear();
    EXPECT_EQ(answer(data(5, "x") + headers(5, block({{"t", "u"}})), step), "") << "what crossed";
    EXPECT_EQ(answer(rst_stream(1) + post(7), step), "[1 closed;7 POST /;]");
    host.respond(3);  // half closed, still counts
    host.take();
    host.log.clear();
    EXPECT_EQ(answer(post(9), step), "reset9=7");
    EXPECT_EQ(answer(data(3, "", true) + get(11), step), "[3 closed;11 GET /;]");
  }
}

// A stream that ended is closed even if the server resets or refuses it: DATA on it is an error.
TEST_F(NativeFrames, DoNotFollowTheEndOfAResetStream) {
  host.limits.streams_max = 1;
  const std::vector<Row> rows = {
      {"too short", post(1, {{"content-length", "5"}}) + data(1, "x", true) + data(1, "x"),
       "reset1=1 goaway1=5 [1 POST /;1 data;1 closed;]"},
      {"refused", post(1) + get(3) + data(3, "x"), "reset3=7 goaway3=5 [1 POST /;]"},
  };
  for (const Row& row : rows) {
    SCOPED_TRACE(row.what);
    begin();
    EXPECT_EQ(answer(row.bytes, SIZE_MAX), row.answer);
  }
}

}  // namespace native_frames_test
}  // namespace h2server::http::h2
