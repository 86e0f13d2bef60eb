// Tests field sections of requests (RFC 9113, 8.2 and 8.3), valid and malformed, and content
// against Content-Length. Also tests parse_priority().
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "http/h2/frames.h"
#include "http/h2/priority.h"
#include "http/h2/session_host.h"

namespace h2server::http::h2 {
namespace native_fields_test {

struct Row {
  FieldList fields;
  bool good = false;
};

FieldList plain_and(const FieldList& more) {
  FieldList fields = {
      {":method", "GET"}, {":scheme", "https"}, {":path", "/"}, {":authority", "a"}};
  fields.insert(fields.end(), more.begin(), more.end());
  return fields;
}

std::vector<Row> head_rows() {
  const std::pair<std::string, std::string> method{":method", "GET"}, scheme{":scheme", "https"},
      path{":path", "/"}, authority{":authority", "a"};
  return {
      {plain_and({}), true},
      {{path, authority, scheme, method}, true},
      {{method, scheme, path, {"host", "a"}}, true},
      {{method, scheme, path}},
      {{method, scheme, authority}},
      {{method, path, authority}},
      {{scheme, path, authority}},
      {plain_and({{":method", "GET"}})},
      {plain_and({{":path", "/"}})},
      {plain_and({{":status", "200"}})},
      {plain_and({{":protocol", "websocket"}})},
      {plain_and({{":", "x"}})},
      {plain_and({{"", "x"}})},
      {{method, scheme, path, {"x", "y"}, authority}},
      {{{":method", ""}, scheme, path, authority}},
      {{{":method", "G T"}, scheme, path, authority}},
      {{{":method", "BREW"}, scheme, path, authority}, true},
      {{method, scheme, {":path", ""}, authority}},
      {{method, scheme, {":path", "*"}, authority}},
      {{{":method", "OPTIONS"}, scheme, {":path", "*"}, authority}, true},
      {{method, scheme, {":path", "x"}, authority}},
      {{method, {":scheme", "ftp"}, {":path", "x"}, authority}, true},
      {{method, {":scheme", "h ttp"}, path, authority}},
      {{method, {":scheme", ""}, path, authority}},
      {{method, scheme, path, {":authority", ""}}},
      {{method, scheme, path, {":authority", "a b"}}},
      {{method, scheme, path, {":authority", "a\\b"}}},
      {{method, scheme, path, {":authority", "[::1]:80"}}, true},
      {{method, scheme, path, {":authority", "a:"}}, true},
      {{method, scheme, path, {":authority", ":80"}}},
      {{method, scheme, path, {":authority", "a:1:2"}}},
      {{method, scheme, path, {":authority", "u@a"}}},
      {{method, scheme, path, {":authority", "[::1"}}},
      {{method, scheme, path, {":authority", "a%zz"}}},
      {{method, scheme, path, {"host", "[::1]x"}}},
      {{method, scheme, path, {"host", "a:65536"}}},
      {{{":method", "CONNECT"}, authority}, true},
      {{{":method", "CONNECT"}, authority, path}},
      {{{":method", "CONNECT"}, {"host", "a"}}},
      {plain_and({{"host", "A"}}), true},
      {plain_and({{"host", "b"}})},
      {plain_and({{"host", ""}})},
      {plain_and({{"host", "a"}, {"host", "a"}})},
      {plain_and({{"X", "y"}})},
      {plain_and({{"x y", "z"}})},
      {plain_and({{"x", " y"}})},
      {plain_and({{"x", "y\t"}})},
      {plain_and({{"x", "a\nb"}})},
      {plain_and({{"x", "a\rb"}})},
      {plain_and({{"x", std::string("a\0b", 3)}})},
      {plain_and({{"x", ""}}), true},
      {plain_and({{"x", "caf\xc3\xa9"}}), true},
      {plain_and({{"connection", "close"}})},
      {plain_and({{"keep-alive", "1"}})},
      {plain_and({{"proxy-connection", "x"}})},
      {plain_and({{"transfer-encoding", "chunked"}})},
      {plain_and({{"upgrade", "h2c"}})},
      {plain_and({{"te", "trailers"}}), true},
      {plain_and({{"te", "gzip"}})},
      {plain_and({{"content-length", "0"}}), true},
      {plain_and({{"content-length", "1"}})},
      {plain_and({{"content-length", "0"}, {"content-length", "0"}})},
      {plain_and({{"content-length", "+0"}})},
      {plain_and({{"content-length", ""}})},
      {plain_and({{"content-length", "99999999999999999999"}})},
  };
}

TEST(NativeFields, AreARequestOrMalformed) {
  for (const Row& row : head_rows()) {
    for (const std::size_t step : {SIZE_MAX, std::size_t{1}}) {
      SCOPED_TRACE(testing::PrintToString(row.fields));
      SessionHost host(Http2Implementation::native);
      host.receive(opening());
      host.take();
      ASSERT_TRUE(host.receive(headers(1, block(row.fields)), step));
      EXPECT_EQ(host.has(1), row.good);
      EXPECT_EQ(describe(host.take()), row.good ? "" : "reset1=1");
    }
  }
}

TEST(NativeFields, MayTrail) {
  const std::vector<Row> rows = {
      {{}, true},
      {{{"t", "u"}, {"v", ""}}, true},
      {{{"content-length", "7"}}, true},  // ignored here
      {{{":path", "/"}}},
      {{{"T", "u"}}},
      {{{"t", " u"}}},
      {{{"connection", "close"}}},
      {{{"transfer-encoding", "chunked"}}},
  };
  for (const Row& row : rows) {
    SCOPED_TRACE(testing::PrintToString(row.fields));
    SessionHost host(Http2Implementation::native);
    host.receive(opening() + post(1));
    host.take();
    ASSERT_TRUE(host.receive(headers(1, block(row.fields))));
    EXPECT_EQ(host.log, row.good ? "1 POST /\n1 ended\n" : "1 POST /\n1 closed\n");
  }
}

TEST(NativeFields, SayHowMuchContentThereIs) {
  struct LengthRow {
    const char* length;
    std::string bytes;
    const char* log;
  };
  const std::vector<LengthRow> rows = {
      {"3", data(1, "abc", true), "1 POST /\n1 data\n1 ended\n"},
      {"3", data(1, "ab") + data(1, "c") + data(1, "", true), "1 POST /\n1 data\n1 ended\n"},
      {"3", padded_data(1, "abc", 9, true), "1 POST /\n1 data\n1 ended\n"},
      {"3", data(1, "abc") + headers(1, block({{"t", "u"}})), "1 POST /\n1 data\n1 ended\n"},
      {"3", data(1, "ab", true), "1 POST /\n1 data\n1 closed\n"},
      {"3", data(1, "ab") + headers(1, block({{"t", "u"}})), "1 POST /\n1 data\n1 closed\n"},
      {"3", data(1, "abc") + data(1, "d"), "1 POST /\n1 data\n1 closed\n"},
      {"0", data(1, "", true), "1 POST /\n1 ended\n"},
      {"0", data(1, "a"), "1 POST /\n1 closed\n"},
  };
  for (const LengthRow& row : rows) {
    for (const std::size_t step : {SIZE_MAX, std::size_t{1}}) {
      SessionHost host(Http2Implementation::native);
      const FieldList length = {{"content-length", row.length}};
      ASSERT_TRUE(host.receive(opening() + post(1, length) + row.bytes, step));
      EXPECT_EQ(host.log, row.log);
    }
  }
}

TEST(Priority, IsParsedFromItsField) {
  const std::vector<std::pair<std::string, Priority>> rows = {
      {"", {3, false}},
      {"u=0", {0, false}},
      {"u=7, i", {7, true}},
      {"i,u=1", {1, true}},
      {"i=?0", {3, false}},
      {"i=?1", {3, true}},
      {"u=8", {3, false}},
      {"u=-1", {3, false}},
      {"u=1.0", {3, false}},
      {"u", {3, false}},
      {"u=1;x=2", {1, false}},
      {"i;q", {3, true}},
      {"x=\"a,u=1\"", {3, false}},
      {"x=\"\\\",\", u=2", {2, false}},
      {" u=5 ,\ti ", {5, true}},
      {"u=1, u=6", {6, false}},
      {"U=1", {3, false}},
      {",,,", {3, false}},
      {"\"", {3, false}},
      {"x=\"\\", {3, false}},
      {"i=1", {3, false}},
  };
  for (const auto& [value, priority] : rows) EXPECT_EQ(parse_priority(value), priority) << value;
}

// Checks the order of DATA frames of three bodies, two frames each, on streams 1, 3 and 5.
TEST(Priority, OrdersWhatIsSent) {
  struct OrderRow {
    const char* values[3];  // null: no Priority field
    std::string order;
  };
  const std::vector<OrderRow> rows = {
      {{nullptr, nullptr, nullptr}, "135135"},  // interleaved
      {{"u=3", "u=3", "u=3"}, "113355"},       {{"u=3", "u=1", "u=2"}, "335511"},
      {{"i", "u=0", "i"}, "331515"},           {{"u=7", "i, u=1", "u=1, i"}, "353511"},
  };
  for (const OrderRow& row : rows) {
    SessionHost host(Http2Implementation::native);
    host.receive(opening());
    for (std::uint32_t i = 0; i < 3; ++i) {
      const char* const value = row.values[i];
      host.receive(get(2 * i + 1, value == nullptr ? FieldList{} : FieldList{{"priority", value}}));
    }
    for (const std::uint32_t id : {1U, 3U, 5U}) {
      host.respond(id, Response(200, std::string(20'000, 'x')));
    }
    std::string order;
    for (const Frame& one : frames_of(host.take())) {
      if (one.head.type == FrameType::data) order += std::to_string(one.head.stream);
    }
    EXPECT_EQ(order, row.order);
  }
}

// The room for output cuts every fourth frame, which would always be that of the same stream.
TEST(Priority, SharesByBytesNotByFrames) {
  SessionHost host(Http2Implementation::native);
  host.receive(opening() + window_update(0, 1 << 24));
  const std::vector<std::uint32_t> ids = {1, 3, 5, 7};
  for (const std::uint32_t id : ids) {
    host.receive(get(id) + window_update(id, 1 << 22));
    host.respond(id, Response(200, std::string(1 << 20, 'x')));
  }
  std::map<std::uint32_t, std::size_t> sent;
  for (int round = 0; round < 50; ++round) {
    for (const Frame& one : frames_of(host.take(64'000))) {
      if (one.head.type == FrameType::data) sent[one.head.stream] += one.head.size;
    }
    std::size_t least = SIZE_MAX, most = 0;
    for (const std::uint32_t id : ids) {
      least = std::min(least, sent[id]);
      most = std::max(most, sent[id]);
    }
    EXPECT_LE(most - least, default_frame_bytes) << round;
  }
}

// A stream that is alone has no turns: its frames are as large as the room allows.
TEST(Priority, LetsALoneStreamSendFullFrames) {
  SessionHost host(Http2Implementation::native);
  host.receive(opening() + window_update(0, 1 << 24) + get(1) + window_update(1, 1 << 22));
  host.respond(1, Response(200, std::string(1 << 20, 'x')));
  host.take(64'000);
  const std::vector<Frame> frames = frames_of(host.take(64'000));
  ASSERT_EQ(frames.size(), 4U);
  for (std::size_t i = 0; i < 3; ++i) EXPECT_EQ(frames[i].head.size, default_frame_bytes) << i;
  EXPECT_EQ(frames[3].head.size, 64'000 - 3 * (default_frame_bytes + frame_head_bytes) - 9);
}

TEST(Priority, MayBeUpdatedBeforeItsStreamAndLater) {
  SessionHost host(Http2Implementation::native);
  host.receive(opening() + priority_update(5, "u=0") + get(1) + get(3) +
               get(5, {{"priority", "u=7"}}) + priority_update(3, "u=1"));
  for (const std::uint32_t id : {1U, 3U, 5U})
    host.respond(id, Response(200, std::string(9000, 'x')));
  std::string order;
  for (const Frame& one : frames_of(host.take())) {
    if (one.head.type == FrameType::data) order += std::to_string(one.head.stream);
  }
  EXPECT_EQ(order, "531");
}

}  // namespace native_fields_test
}  // namespace h2server::http::h2
