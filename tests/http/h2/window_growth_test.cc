// Tests how receive windows grow: the budget, the measurement, then the frames of the session.
#include <gtest/gtest.h>

#include <string>

#include "http/h2/frames.h"
#include "http/h2/session_host.h"
#include "http/h2/window_growth.h"

namespace h2server::http::h2 {
namespace {

constexpr std::uint32_t mib = 1024 * 1024;

// --- the budget -------------------------------------------------------------------------------

TEST(WindowBudget, GivesWhatItHas) {
  WindowBudget budget(800);
  EXPECT_FALSE(budget.take(101));
  EXPECT_TRUE(budget.take(100));
  EXPECT_FALSE(budget.take(88));
  EXPECT_TRUE(budget.take(87));
  budget.give_back(187);
  EXPECT_TRUE(budget.take(100));
}

// --- the measurement --------------------------------------------------------------------------

struct Row {
  const char* name;
  std::uint32_t arrived;  // in a round trip
  std::uint32_t unread;
  std::int64_t budget;
  std::uint32_t stream_bytes;  // afterwards
};

const Row rows[] = {
    {"a line that holds little", mib / 3 - 1, 0, 64 * mib, mib},
    {"a third of the window", mib / 3, 0, 64 * mib, 4 * mib},
    {"all of it", mib, 0, 64 * mib, 4 * mib},
    {"a handler that is a little behind", mib, mib / 4, 64 * mib, 4 * mib},
    {"a handler that does not keep up", mib, mib / 4 + 1, 64 * mib, mib},
    {"just enough in the budget", mib, 0, 48 * mib, 4 * mib},
    {"too little in the budget", mib, 0, 48 * mib - 1, mib},
};

TEST(WindowGrowth, FollowsWhatARoundTripBrings) {
  for (const Row& row : rows) {
    const Limits limits;
    WindowBudget budget(row.budget);
    {
      WindowGrowth growth(limits, &budget);
      growth.arrived(10 * mib);  // before the measurement: ignored
      EXPECT_TRUE(growth.begin(0)) << row.name;
      EXPECT_FALSE(growth.begin(0)) << "one at a time";
      growth.arrived(row.arrived);
      EXPECT_EQ(growth.end(row.unread), row.stream_bytes > mib) << row.name;
      EXPECT_FALSE(growth.end(0)) << "asked once";
      EXPECT_EQ(growth.stream_bytes(), row.stream_bytes) << row.name;
      EXPECT_EQ(growth.connection_bytes(), 2 * row.stream_bytes) << row.name;
    }
    EXPECT_TRUE(budget.take(static_cast<std::uint32_t>(row.budget / 8))) << "back: " << row.name;
  }
}

TEST(WindowGrowth, EndsAtItsBound) {
  const Limits limits;
  WindowBudget budget(512 * mib);
  WindowGrowth growth(limits, &budget);
  for (const std::uint32_t bytes : {4 * mib, 16 * mib}) {
    ASSERT_TRUE(growth.begin(0));
    growth.arrived(bytes);
    ASSERT_TRUE(growth.end(0));
    EXPECT_EQ(growth.stream_bytes(), bytes);
  }
  EXPECT_EQ(growth.connection_bytes(), 32 * mib);
  EXPECT_FALSE(growth.begin(0));
}

TEST(WindowGrowth, CountsWhatWaitedForAHandler) {
  const Limits limits;
  WindowBudget budget(64 * mib);
  WindowGrowth growth(limits, &budget);
  ASSERT_TRUE(growth.begin(mib / 4));
  growth.arrived(mib / 12 + 1);
  EXPECT_TRUE(growth.end(0));
}

TEST(WindowGrowth, IsNotMeasuredWithoutABudget) {
  const Limits limits;
  WindowGrowth growth(limits, nullptr);
  EXPECT_FALSE(growth.begin(0));
  EXPECT_FALSE(growth.end(0));
}

// --- the session ------------------------------------------------------------------------------

struct GrowingWindows : testing::Test {
  GrowingWindows() {
    host.windows = &budget;
    host.open();
    EXPECT_TRUE(host.receive(opening()));
    host.take();
  }
  // Returns the output of the session after `bytes` of content on the stream.
  std::string answer_content(std::uint32_t id, std::size_t bytes) {
    const std::string content(16 * 1024, 'x');
    for (; bytes > 0; bytes -= content.size()) EXPECT_TRUE(host.receive(data(id, content)));
    return host.take();
  }
  // Returns the sum of the WINDOW_UPDATEs in `said` for stream `id`; 0 is the connection.
  static std::uint32_t opened(const std::string& said, std::uint32_t id) {
    std::uint32_t sum = 0;
    for (const Frame& one : frames_of(said)) {
      const bool fits = one.head.type == FrameType::window_update && one.head.stream == id;
      if (fits) sum += read_u32(one.payload.data());
    }
    return sum;
  }
  static std::string pong() { return ping("windows?", flag::ack); }

  WindowBudget budget{64 * mib};
  SessionHost host{Http2Implementation::native};
};

TEST_F(GrowingWindows, MeasuresWithAnAnnouncement) {
  host.receive(post(1));
  EXPECT_EQ(host.take(), "");
  EXPECT_EQ(answer_content(1, mib / 2 - 16 * 1024), "");
  EXPECT_EQ(answer_content(1, 16 * 1024), window_update(1, mib / 2) + ping("windows?"));
  EXPECT_EQ(answer_content(1, mib / 2), window_update(0, mib) + window_update(1, mib / 2))
      << "one PING at a time";
}

TEST_F(GrowingWindows, OpensAllThatTakeContent) {
  host.receive(post(1) + post(3) + get(5));
  answer_content(1, mib);
  ASSERT_TRUE(host.receive(pong()));
  const std::string said = host.take();
  EXPECT_EQ(opened(said, 0), 6 * mib);
  EXPECT_EQ(opened(said, 1), 3 * mib);
  EXPECT_EQ(opened(said, 3), 3 * mib);
  EXPECT_EQ(opened(said, 5), 0U);
  EXPECT_EQ(frames_of(said).size(), 3U);
  // Later streams begin with the window of SETTINGS. Those that may need more get it at once.
  host.receive(post(7) + get(9) + post(11, {{"content-length", "1048576"}}));
  EXPECT_EQ(host.take(), window_update(7, 3 * mib));
  answer_content(7, 4 * mib);
  EXPECT_FALSE(host.over());
}

TEST_F(GrowingWindows, IgnoresAnswersThatWereNotAskedFor) {
  host.receive(post(1));
  ASSERT_TRUE(host.receive(pong()));
  answer_content(1, mib / 2);
  ASSERT_TRUE(host.receive(ping("draining", flag::ack)));
  EXPECT_EQ(opened(answer_content(1, mib / 2), 0), mib);
  ASSERT_TRUE(host.receive(pong() + pong()));
  EXPECT_EQ(opened(host.take(), 1), 3 * mib);
}

TEST_F(GrowingWindows, StayForContentOfStreamsThatAreGone) {
  host.receive(post(1) + post(3));
  answer_content(1, mib / 2);
  host.session->reset(host.exchange(3), ErrorCode::cancel);
  host.take();
  answer_content(3, mib / 2);
  ASSERT_TRUE(host.receive(pong()));
  EXPECT_EQ(host.take(), "");
}

TEST_F(GrowingWindows, StayWhereNobodyReads) {
  host.receive(post(1));
  answer_content(1, mib / 2);
  host.consumes = false;
  answer_content(1, mib / 2);
  ASSERT_TRUE(host.receive(pong()));
  EXPECT_EQ(host.take(), "");
}

TEST_F(GrowingWindows, RefusesMoreThanItOpened) {
  host.receive(post(1));
  answer_content(1, mib);
  host.receive(pong());
  host.take();
  host.consumes = false;
  const std::string content(16 * 1024, 'x');
  std::size_t sent = 0;
  while (describe(host.take()).empty() && sent < 64 * mib) {
    host.receive(data(1, content));
    sent += content.size();
  }
  EXPECT_EQ(sent, 4 * mib + content.size());
}

}  // namespace
}  // namespace h2server::http::h2
