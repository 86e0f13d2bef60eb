// Tests the limits that end a connection whose client costs too much, in both sessions.
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "base/memory/memory_budget.h"
#include "http/h2/flood_guard.h"
#include "http/h2/frame_heads.h"
#include "http/h2/frames.h"
#include "http/h2/session_host.h"

namespace h2server::http::h2 {
namespace session_floods_test {

class H2Floods : public testing::TestWithParam<Http2Implementation> {
 protected:
  void begin() {
    host_.now_ms = 1;
    host_.open();
    host_.receive(opening());
    host_.take();
  }
  // Passes the bytes to the session and reads its output. Returns true if the connection goes on.
  bool receive(std::string_view bytes, std::size_t step = SIZE_MAX) {
    host_.receive(bytes, step);
    said_ = host_.take();
    return !host_.over();
  }
  // Expects the output to end with GOAWAY, ENHANCE_YOUR_CALM.
  void expect_calm_asked_for() const {
    const std::vector<Frame> frames = frames_of(said_);
    ASSERT_FALSE(frames.empty());
    EXPECT_EQ(frames.back().head.type, FrameType::goaway);
    EXPECT_TRUE(said_.ends_with(u32(static_cast<std::uint32_t>(ErrorCode::enhance_your_calm))))
        << describe(said_);
  }

  SessionHost host_{GetParam()};
  std::string said_;
};

INSTANTIATE_TEST_SUITE_P(, H2Floods,
                         testing::Values(Http2Implementation::native, Http2Implementation::nghttp2),
                         name_of_parameter);

TEST_P(H2Floods, OfFramesThatLeadNowhere) {
  struct Row {
    const char* what;
    std::string bytes;
  };
  const std::vector<Row> rows = {
      {"PING", ping()},
      {"the answer to no PING", ping("01234567", flag::ack)},
      {"SETTINGS", settings_frame()},
      {"PRIORITY", priority_frame(3)},
      {"PRIORITY_UPDATE", priority_update(3, "u=1")},
      {"empty DATA", data(1, "")},
      {"RST_STREAM of what is gone", rst_stream(1)},
      {"an unknown frame", frame(static_cast<FrameType>(0x77), 0, 0)},
      {"an unknown frame with content", frame(static_cast<FrameType>(0x77), 1, 5, "abc")},
  };
  for (const Row& row : rows) {
    SCOPED_TRACE(row.what);
    host_.limits.idle_frames_max = 50;
    host_.limits.idle_frames_per_s_max = 10;
    for (const std::size_t step : {SIZE_MAX, std::size_t{1}}) {
      begin();
      receive(post(1));
      int count = 0;
      while (receive(row.bytes, step) && count < 1000) ++count;
      EXPECT_GE(count, 48);
      EXPECT_LE(count, 51);
      expect_calm_asked_for();
    }
    begin();
    receive(post(1));
    for (int i = 0; i < 500; ++i, host_.now_ms += 100) ASSERT_TRUE(receive(row.bytes));
  }
}

// Requests before the frame that exceeds the limit are served.
TEST_P(H2Floods, InOneReceive) {
  host_.limits.idle_frames_max = 50;
  begin();
  std::string bytes = get(1);
  for (int i = 0; i < 40; ++i) bytes += ping();
  bytes += get(3);
  for (int i = 0; i < 100; ++i) bytes += ping();
  bytes += get(5);
  EXPECT_FALSE(receive(bytes));
  expect_calm_asked_for();
  EXPECT_EQ(host_.log, "1 GET /\n3 GET /\n");
}

// The limit holds at any frame rate.
TEST_P(H2Floods, OfQuestionsWhoseAnswersAreNotRead) {
  host_.limits.acks_queued_max = 50;     // libnghttp2 counts frames,
  host_.limits.unread_bytes_max = 1000;  // the native session counts bytes
  for (const std::string& bytes : {ping(), settings_frame()}) {
    begin();
    for (int i = 0; i < 500; ++i, host_.now_ms += 1000) host_.receive(bytes);
    said_ = host_.take();
    expect_calm_asked_for();
    EXPECT_TRUE(host_.over());
  }
}

TEST_P(H2Floods, OfResponsesThatAreNotRead) {
  host_.limits.frames_queued_max = 50;
  host_.limits.unread_bytes_max = 1000;
  host_.limits.streams_max = 1000;
  host_.answers = true;
  begin();
  for (std::uint32_t id = 1; id < 1000; id += 2) host_.receive(get(id));
  said_ = host_.take();
  expect_calm_asked_for();
  EXPECT_TRUE(host_.over());
}

// CVE-2023-44487: the client resets streams. CVE-2025-8671: it makes the server reset them.
TEST_P(H2Floods, OfResets) {
  struct Row {
    const char* what;
    std::string (*bytes)(std::uint32_t id);
    bool ends_with_libnghttp2 = false;  // as a connection error
  };
  const std::vector<Row> rows = {
      {"RST_STREAM", [](std::uint32_t id) { return post(id) + rst_stream(id); }},
      {"WINDOW_UPDATE of 0", [](std::uint32_t id) { return post(id) + window_update(id, 0); },
       true},
      {"a window beyond its bound",
       [](std::uint32_t id) { return post(id) + window_update(id, 0x7fff'ffff); }},
      {"more content than was said",
       [](std::uint32_t id) { return post(id, {{"content-length", "1"}}) + data(id, "22"); }},
      {"less content than was said",
       [](std::uint32_t id) { return post(id, {{"content-length", "9"}}) + data(id, "2", true); }},
      {"a malformed head", [](std::uint32_t id) { return get(id, {{"Upper", "x"}}); }},
      {"trailers that don't end",
       [](std::uint32_t id) {
         return post(id) + headers(id, block({{"x", "y"}}), flag::end_headers);
       }},
  };
  host_.limits.resets_max = 50;
  host_.limits.resets_per_s_max = 1;
  for (const Row& row : rows) {
    if (row.ends_with_libnghttp2 && GetParam() == Http2Implementation::nghttp2) continue;
    SCOPED_TRACE(row.what);
    begin();
    int count = 0;
    for (std::uint32_t id = 1; receive(row.bytes(id)) && count < 1000; id += 2) ++count;
    EXPECT_EQ(count, 50);
    expect_calm_asked_for();
  }
}

// RFC 9113, 6.9.2.
TEST_P(H2Floods, SettingsThatMakeAWindowTooLargeEndTheConnection) {
  for (const std::size_t step : {SIZE_MAX, std::size_t{1}}) {
    begin();
    EXPECT_TRUE(receive(post(1) + post(3) + settings_frame({{4, 65535}}), step));
    EXPECT_TRUE(receive(window_update(1, 0x7fff'ffff - 65535), step)) << "the largest window";
    EXPECT_TRUE(receive(settings_frame({{4, 100}}) + settings_frame({{4, 65535}}), step));
    EXPECT_FALSE(receive(settings_frame({{4, 65536}}), step));
    EXPECT_TRUE(said_.ends_with(u32(static_cast<std::uint32_t>(ErrorCode::flow_control_error))))
        << describe(said_);
  }
}

// libnghttp2 decodes blocks as they arrive, and holds what its own limits allow.
TEST(H2Memory, OfBlocksAndFramesThatAreNotWholeCounts) {
  const auto counted = [] {
    return base::MemoryBudget::of_process().held(base::MemoryOwner::requests);
  };
  SessionHost host(Http2Implementation::native);
  host.open();
  host.receive(opening());
  EXPECT_EQ(host.session->bytes_gathered(), 0U) << "else an idle connection could be cut off";
  const std::uint64_t before = counted();
  const std::string half = block({{"x", std::string(10'000, '\x7f')}});
  host.receive(headers(1, half, flag::end_stream));
  EXPECT_GE(host.session->bytes_gathered(), half.size());
  EXPECT_GE(counted(), before + half.size());
  const std::string more = continuation(1, half, false);
  host.receive(more.substr(0, more.size() - 1));
  EXPECT_GE(counted(), before + half.size() + half.size() / 2) << "the frame is not whole";
  host.close();
  EXPECT_LT(counted(), before + half.size());
}

// What is to be sent meanwhile does not make them wrong.
TEST_P(H2Floods, SettingsInPartsBetweenResponses) {
  begin();
  EXPECT_TRUE(receive(get(1) + get(3)));
  const std::string settings = settings_frame({{4, 65535}});
  host_.receive(settings.substr(0, 9));
  host_.respond(1);
  host_.respond(3);
  EXPECT_TRUE(host_.receive(settings.substr(9)));
  host_.take();
  EXPECT_FALSE(host_.over());
}

// Streams beyond the limit are refused, up to the limit of resets. libnghttp2 treats them as a
// connection error once the client has acknowledged the limit.
TEST_P(H2Floods, OfStreamsThatAreRefused) {
  host_.limits.streams_max = 2;
  host_.limits.resets_max = 50;
  host_.limits.resets_per_s_max = 1;
  begin();
  ASSERT_TRUE(receive(post(1) + post(3)));
  int count = 0;
  for (std::uint32_t id = 5; receive(post(id)) && count < 1000; id += 2) ++count;
  EXPECT_EQ(count, 50);
  expect_calm_asked_for();
}

TEST_P(H2Floods, OfResetsByWhatTheyCost) {
  host_.limits.resets_max = 50;
  host_.limits.resets_per_s_max = 1;
  for (const auto& [work, allowed] :
       {std::pair(0U, 50), std::pair(1U, 25), std::pair(10U, 4), std::pair(1'000'000U, 4)}) {
    SCOPED_TRACE(work);
    begin();
    int count = 0;
    for (std::uint32_t id = 1; count < 1000; id += 2, ++count) {
      ASSERT_TRUE(receive(post(id)));
      host_.exchange(id).stop.count_work(work);
      if (!receive(rst_stream(id))) break;
    }
    EXPECT_EQ(count, allowed);
    expect_calm_asked_for();
  }
}

// Those that the client makes us do (CVE-2025-8671), by a window that becomes too large.
TEST_P(H2Floods, OfResetsThatItCausesByWhatTheyCost) {
  host_.limits.resets_max = 50;
  host_.limits.resets_per_s_max = 1;
  begin();
  int count = 0;
  for (std::uint32_t id = 1; count < 1000; id += 2, ++count) {
    ASSERT_TRUE(receive(post(id)));
    host_.exchange(id).stop.count_work(10);
    if (!receive(window_update(id, 0x7fffffff))) break;
  }
  EXPECT_EQ(count, 4);
  expect_calm_asked_for();
}

// Resets by handlers do not count.
TEST_P(H2Floods, AreNotOurOwnResets) {
  host_.limits.resets_max = 10;
  host_.limits.resets_per_s_max = 1;
  begin();
  for (std::uint32_t id = 1; id < 200; id += 2) {
    ASSERT_TRUE(receive(post(id)));
    host_.session->reset(host_.exchange(id), ErrorCode::internal_error);
    ASSERT_TRUE(receive(""));
  }
}

// --- http/h2/frame_heads.h ----------------------------------------------------------------------

TEST(FrameHeads, AreFoundHoweverTheyArrive) {
  const std::string bytes = opening() + get(1) + data(1, "") + data(1, "content") + ping();
  for (const std::size_t step : {bytes.size(), std::size_t{1}, std::size_t{7}, std::size_t{33}}) {
    FrameHeads heads;
    std::vector<FrameType> types;
    for (std::string_view rest = bytes; !rest.empty();) {
      const std::string_view part = rest.substr(0, step);
      EXPECT_EQ(heads.read(part,
                           [&](const FrameHead& head) {
                             types.push_back(head.type);
                             return true;
                           }),
                part.size());
      rest.remove_prefix(part.size());
    }
    EXPECT_EQ(types, (std::vector{FrameType::settings, FrameType::headers, FrameType::data,
                                  FrameType::data, FrameType::ping}))
        << step;
  }
}

TEST(FrameHeads, SayWhereTheOneIsThatWasRefused) {
  const std::string before = opening() + data(1, "content");
  FrameHeads heads;
  const std::size_t end = heads.read(
      before + ping() + ping(), [](const FrameHead& head) { return head.type != FrameType::ping; });
  EXPECT_EQ(end, before.size() + frame_head_bytes);
}

}  // namespace session_floods_test
}  // namespace h2server::http::h2
