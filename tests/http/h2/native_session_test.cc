// Tests the native session alone: flow control, the connection's end, floods, prepared heads.
#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

#include "http/h2/frames.h"
#include "http/h2/session_host.h"

namespace h2server::http::h2 {
namespace native_session_test {

struct NativeSession : testing::Test {
  void begin(const SettingsList& list = {}) {
    host.open();
    ASSERT_TRUE(host.receive(opening(list)));
    host.take();
  }
  std::string answer(const std::string& bytes) {
    host.receive(bytes);
    return describe(host.take());
  }

  SessionHost host{Http2Implementation::native};
};

struct Nothing final : BodySource {
  Task<Result<std::string_view>> read() override { co_return std::string_view(); }
};

// --- flow control -----------------------------------------------------------------------------

TEST_F(NativeSession, SendsAsFarAsWindowsAllow) {
  begin({{4, 10}});
  host.receive(get(1));
  host.respond(1, Response(200, std::string(100, 'x')));
  EXPECT_EQ(describe(host.take()), "headers1 data1:10");
  EXPECT_EQ(answer(window_update(1, 5)), "data1:5");
  EXPECT_EQ(answer(settings_frame({{4, 0}})), "settingsack");  // the window is -10
  EXPECT_EQ(answer(window_update(1, 10)), "");
  EXPECT_EQ(answer(window_update(1, 1)), "data1:1");
  EXPECT_EQ(answer(settings_frame({{4, 20}})), "settingsack data1:20");
  EXPECT_EQ(answer(window_update(1, 1000)), "data1:64;");
}

TEST_F(NativeSession, RefusesWindowsBeyondTheirBound) {
  begin();
  host.receive(post(1));
  EXPECT_EQ(answer(window_update(1, 0x7fff'ffff - 65535)), "");
  EXPECT_EQ(answer(settings_frame({{4, 65536}})), "goaway1=3");
  begin();
  EXPECT_EQ(answer(window_update(0, 0x7fff'ffff - 65535)), "");
  EXPECT_EQ(answer(window_update(0, 1)), "goaway0=3");
}

TEST_F(NativeSession, RefusesMoreContentThanItAllowed) {
  host.limits.stream_window_bytes = 70'000;
  host.consumes = false;
  begin();
  std::string bytes = post(1);
  for (int i = 0; i < 5; ++i) bytes += data(1, std::string(14'000, 'x'));
  EXPECT_EQ(answer(bytes), "");
  EXPECT_EQ(answer(padded_data(1, "", 0) + ping("goes on.")), "reset1=3 pingack");
}

// Content of requests that are reset, cancelled, refused or malformed, and all padding, returns to
// the connection's window.
TEST_F(NativeSession, LosesNothingOfTheConnectionsWindow) {
  host.limits.streams_max = 1;
  host.limits.resets_max = 1'000'000;
  begin();
  const std::string content(1000, 'x');
  std::uint64_t sent = 0;
  std::uint64_t given_back = 0;
  std::uint32_t id = 1;
  for (int i = 0; i < 10'000; ++i, id += 2) {
    ++host.now_ms;
    std::string bytes = post(id, i % 5 == 4 ? FieldList{{"content-length", "1"}} : FieldList{});
    if (i % 5 == 0) {
      id += 2;
      bytes += post(id);  // refused
    }
    bytes += padded_data(id, content, 100);
    sent += 1101;
    ASSERT_TRUE(host.receive(bytes)) << i;
    if (i % 5 == 1) host.session->reset(host.exchange(id), ErrorCode::cancel);
    ASSERT_TRUE(host.receive(data(id, content)));
    sent += 1000;
    if (i % 5 != 1 && i % 5 != 4) host.receive(rst_stream(id));
    if (i % 5 == 0) host.receive(rst_stream(id - 2));
    for (const Frame& one : frames_of(host.take())) {
      const bool connection = one.head.type == FrameType::window_update && one.head.stream == 0;
      if (connection) given_back += read_u32(one.payload.data());
    }
    ASSERT_LE(sent - given_back, 1024U * 1024);
  }
  EXPECT_FALSE(host.session->failed());
}

// --- the connection's end ---------------------------------------------------------------------

TEST_F(NativeSession, NeverServesMoreThanItSaid) {
  begin();
  host.last = 1;
  EXPECT_EQ(answer(get(1) + get(3)), "goaway1=0");
  host.session->drain();
  EXPECT_EQ(describe(host.take()), "goaway1=0 ping");
  EXPECT_EQ(answer(ping("draining", flag::ack)), "goaway1=0");
  EXPECT_EQ(answer(get(5) + ping("draining", flag::ack)), "goaway1=0");
  host.session->terminate(ErrorCode::internal_error);
  EXPECT_EQ(describe(host.take()), "goaway1=2");
}

TEST_F(NativeSession, TakesNoEarlierAnswerForThatToItsPing) {
  begin();
  EXPECT_EQ(answer(ping("whatever", flag::ack)), "");
  host.session->drain();
  EXPECT_EQ(describe(host.take()), "goaway2147483647=0 ping");
  EXPECT_EQ(answer(get(1)), "");
  EXPECT_TRUE(host.has(1));
  EXPECT_EQ(answer(ping("draining", flag::ack)), "goaway1=0");
  EXPECT_EQ(answer(get(3)), "");
  EXPECT_FALSE(host.has(3));
}

// --- floods -----------------------------------------------------------------------------------

TEST_F(NativeSession, EndsFloodsOfContinuations) {
  begin();
  std::string bytes = headers(1, request_block(), flag::end_stream);
  for (int i = 0; i < 64; ++i) bytes += continuation(1, "", false);
  EXPECT_EQ(answer(bytes), "");
  EXPECT_EQ(answer(continuation(1, "", true)), "goaway0=11");
}

// Ordinary clients send many WINDOW_UPDATEs a second that cross the end of their stream.
TEST_F(NativeSession, TakesNoOrdinaryClientForAFlood) {
  host.answers = true;
  begin();
  for (std::uint32_t id = 1; id < 20'000; id += 2) {
    ASSERT_TRUE(host.receive(get(id) + window_update(id, 100) + rst_stream(id))) << id;
    host.take();
  }
}

// The output is never empty, but each frame leaves.
TEST_F(NativeSession, LetsAClientReadSlowly) {
  host.limits.unread_bytes_max = 100'000;
  host.answers = true;
  begin();
  for (std::uint32_t id = 1; id < 40'000; id += 2) {
    ASSERT_TRUE(host.receive(get(id))) << id;
    base::BufferChain& out = host.session->output();
    if (id > 2000) out.consume(std::min<std::size_t>(out.front().size(), out.size() - 1000));
  }
  host.take();
  for (std::uint32_t id = 40'001; host.receive(get(id)) && id < 400'000; id += 2) {
    ASSERT_LE(host.session->output().size(), host.limits.unread_bytes_max);
  }
  EXPECT_NEAR(host.session->output().size(), host.limits.unread_bytes_max, 200)
      << "it ended, with a response and a GOAWAY more";
}

// --- heads ------------------------------------------------------------------------------------

// Repeats prepared heads while other responses and the client change the table.
TEST_F(NativeSession, SendsPreparedHeadsThatAreUnderstood) {
  host.limits.idle_frames_max = 1'000'000;
  host.open();
  Nghttp2Client client;
  std::minstd_rand random(7);
  const std::string large(40, 'x');
  const std::vector<PreparedHead> prepared = {
      {{hpack::HashedField({"content-type", "text/html"})},
       hpack::group_of(1, {{"etag", "\"a\""}})},
      {{hpack::HashedField({"content-type", "text/css"})},
       hpack::group_of(17, {{"etag", "\"b\""}, {"content-length", "7"}})},
      {{hpack::HashedField({"x-large", large})}, hpack::group_of(18, {{"etag", "\"c\""}})}};
  std::vector<std::string> values;
  const auto add = [](std::string& text, std::span<const Field> fields) {
    for (const Field& field : fields) {
      text.append(field.name).append("=").append(field.value) += ";";
    }
  };
  for (int i = 0; i < 200; ++i)
    values.push_back(std::string(random() % 200, 'v') + std::to_string(i));
  for (int i = 0; i < 2000; ++i) {
    if (random() % 50 == 0) {
      const nghttp2_settings_entry size{NGHTTP2_SETTINGS_HEADER_TABLE_SIZE,
                                        static_cast<std::uint32_t>(random() % 5 * 1024)};
      nghttp2_submit_settings(client.get(), NGHTTP2_FLAG_NONE, &size, 1);
    }
    const std::int32_t id = client.request("GET", "/");
    host.receive(client.bytes());
    std::vector<Field> fields;
    const std::size_t which = random() % 4;
    if (which == 3) fields.push_back({":status", "404"});
    for (auto count = random() % 3; count > 0; --count) {
      // Often the same, as the fields that a site adds to all its files.
      fields.push_back({"x-y", values[random() % (random() % 4 == 0 ? values.size() : 2)]});
    }
    fields.push_back({"date", values[static_cast<std::size_t>(i) / 20 % values.size()]});
    ResponseHead head{.fields = fields};
    if (which < 3) head.prepared = &prepared[which];
    std::string text;
    if (which < 3) add(text, PreparedHead::common);
    add(text, fields);
    if (which < 3) {
      for (const hpack::HashedField& shared : head.prepared->shared) add(text, {&shared.field, 1});
      add(text, head.prepared->own.fields);
    }
    host.session->respond(host.exchange(static_cast<std::uint32_t>(id)), head, false);
    client.receive(host.take());
    ASSERT_EQ(client.answers[id].fields, text) << i;
  }
  EXPECT_TRUE(host.alive.empty());
}

TEST_F(NativeSession, SendsHeadsThatTakeContinuations) {
  Nghttp2Client client;
  const std::int32_t id = client.request("GET", "/");
  host.receive(client.bytes());
  const std::string large(15'000, 'x');
  const std::vector<Field> fields = {{":status", "200"}, {"a", large}, {"b", large}, {"c", large}};
  host.session->respond(host.exchange(1), {.fields = fields}, false);
  const std::string bytes = host.take();
  EXPECT_NE(describe(bytes).find("headers1; continuation1"), std::string::npos);
  client.receive(bytes);
  EXPECT_EQ(client.answers[id].fields,
            ":status=200;a=" + large + ";b=" + large + ";c=" + large + ";");
}

}  // namespace native_session_test
}  // namespace h2server::http::h2
