// Tests how receive windows grow: the budget, the measurement, what is given in advance, then the
// frames of the native session. upload_windows_test.cc has what both sessions do for an upload.
#include <gtest/gtest.h>

#include <optional>
#include <string>

#include "base/memory/memory_budget.h"
#include "http/h2/frames.h"
#include "http/h2/session_host.h"
#include "http/h2/window_growth.h"

namespace h2server::http::h2 {
namespace window_growth_test {

constexpr std::uint32_t mib = 1024 * 1024;
constexpr std::uint64_t unknown = largest_window_bytes;  // content to come

// --- the budget -------------------------------------------------------------------------------

TEST(WindowBudget, GivesSharesOfWhatIsLeft) {
  WindowBudget budget(800);
  EXPECT_EQ(budget.take(10), 10U);
  EXPECT_EQ(budget.take(100), 98U);  // an eighth of 790
  EXPECT_EQ(budget.left(), 692);
  budget.give_back(108);
  EXPECT_EQ(budget.take(200), 100U);
}

TEST(WindowBudget, GivesHalfOfItInAdvance) {
  WindowBudget budget(800);
  EXPECT_EQ(budget.take_ahead(10), 10U);
  EXPECT_EQ(budget.taken(), 10);
  EXPECT_EQ(budget.take_ahead(200), 195U);  // half of 390
  while (budget.take_ahead(1000) > 0) continue;
  EXPECT_LE(budget.left(), 401);
  EXPECT_GE(budget.left(), 400);
  EXPECT_EQ(budget.take(1000), 50U);  // for those that have shown their speed
  EXPECT_EQ(budget.take_ahead(1), 0U);
}

TEST(WindowBudget, GivesNothingWhileMemoryIsTight) {
  base::MemoryBudget& memory = base::MemoryBudget::of_process();
  memory.set_limit(std::uint64_t{16} << 20);
  WindowBudget budget(800);
  {
    base::MemoryCharge charge(base::MemoryOwner::buffers);
    charge.set(std::size_t{9} << 20);
    EXPECT_EQ(budget.take(800), 0U);
    EXPECT_EQ(budget.take_ahead(800), 0U);
  }
  EXPECT_EQ(budget.take(800), 100U);
  memory.set_limit(base::MemoryBudget::no_limit);
  EXPECT_TRUE(memory.end_shortage());
}

TEST(WindowBudget, MayBeEmpty) {
  WindowBudget budget(0);
  EXPECT_EQ(budget.take(1), 0U);
  EXPECT_EQ(budget.take_ahead(1), 0U);
  budget.reset(8);
  EXPECT_EQ(budget.take(8), 1U);
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
    {"just enough in the budget", mib, 0, 24 * mib, 4 * mib},
    {"less in the budget", mib, 0, 16 * mib, 3 * mib},
    {"nothing in the budget", mib, 0, 0, mib},
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
      EXPECT_EQ(growth.end(row.unread, unknown), row.stream_bytes > mib) << row.name;
      EXPECT_FALSE(growth.end(0, unknown)) << "asked once";
      EXPECT_EQ(growth.stream_bytes(), row.stream_bytes) << row.name;
      EXPECT_EQ(growth.connection_bytes(), mib + row.stream_bytes) << row.name;
      EXPECT_EQ(budget.left(), row.budget - (row.stream_bytes - mib)) << row.name;
    }
    EXPECT_EQ(budget.left(), row.budget) << row.name;
  }
}

TEST(WindowGrowth, EndsAtItsBound) {
  const Limits limits;
  WindowBudget budget(1024 * mib);
  WindowGrowth growth(limits, &budget);
  for (const std::uint32_t bytes : {4 * mib, 16 * mib, 64 * mib, 128 * mib}) {
    ASSERT_TRUE(growth.begin(0));
    growth.arrived(bytes);
    ASSERT_TRUE(growth.end(0, unknown));
    EXPECT_EQ(growth.stream_bytes(), bytes);
  }
  EXPECT_EQ(growth.connection_bytes(), 129 * mib);
  EXPECT_FALSE(growth.begin(0));
}

TEST(WindowGrowth, GivesNoMoreThanTheContentNeeds) {
  const Limits limits;
  WindowBudget budget(512 * mib);
  WindowGrowth growth(limits, &budget);
  for (const std::uint32_t missing : {0U, 1U, 100U}) {
    ASSERT_TRUE(growth.begin(0));
    growth.arrived(2 * mib);
    EXPECT_EQ(growth.end(0, missing), missing > 0);
  }
  EXPECT_EQ(growth.gained(), 101U);
}

TEST(WindowGrowth, KeepsTheConnectionsWindowWithin31Bits) {
  Limits limits;
  limits.connection_window_bytes = 0x7fff'ffff - 1000;
  WindowBudget budget(512 * mib);
  WindowGrowth growth(limits, &budget);
  EXPECT_TRUE(growth.begin_upload(10 * mib));
  EXPECT_EQ(growth.connection_bytes(), 0x7fff'ffffU);
}

// --- in advance -------------------------------------------------------------------------------

struct Advance {
  const char* name;
  std::optional<std::uint64_t> content;
  std::int64_t budget;
  std::uint32_t stream_bytes;  // afterwards
};

const Advance advances[] = {
    {"fits already", mib, 512 * mib, mib},
    {"a little more", mib + 1, 512 * mib, mib + 1},
    {"more", 16 * mib, 512 * mib, 16 * mib},
    {"more than the bound", std::uint64_t{1} << 40, 512 * mib, 128 * mib},
    {"an unknown length", {}, 512 * mib, 4 * mib},
    {"more than the budget's share", 16 * mib, 32 * mib, 9 * mib},
    {"nothing in the budget", 16 * mib, 0, mib},
};

TEST(WindowGrowth, BeginsWithWhatAnUploadNeeds) {
  for (const Advance& row : advances) {
    const Limits limits;
    WindowBudget budget(row.budget);
    WindowGrowth growth(limits, &budget);
    EXPECT_EQ(growth.begin_upload(row.content), row.stream_bytes > mib) << row.name;
    EXPECT_EQ(growth.stream_bytes(), row.stream_bytes) << row.name;
    EXPECT_EQ(growth.gained(), row.stream_bytes - mib) << row.name;
    EXPECT_EQ(budget.left(), row.budget - growth.gained()) << row.name;
    growth.shrink(growth.gained());
    EXPECT_EQ(growth.stream_bytes(), mib) << row.name;
    EXPECT_EQ(budget.left(), row.budget) << row.name;
  }
}

// --- taken back -------------------------------------------------------------------------------

TEST(WindowGrowth, KnowsWhenHandlersLag) {
  struct Moment {
    std::uint32_t unread;
    std::int64_t now_ms;
    bool lags;
  };
  const Moment moments[] = {
      {4 * mib + 1, 5000, false}, {16 * mib, 7999, false},    {4 * mib + 1, 8000, true},
      {4 * mib, 8001, false},     {4 * mib + 1, 8002, false}, {4 * mib + 1, 11002, true},
  };
  const Limits limits;
  WindowBudget budget(512 * mib);
  WindowGrowth growth(limits, &budget);
  ASSERT_TRUE(growth.begin_upload(15 * mib));
  ASSERT_EQ(growth.connection_bytes(), 16 * mib);
  for (const Moment& moment : moments) {
    EXPECT_EQ(growth.handlers_lag(moment.unread, moment.now_ms), moment.lags) << moment.now_ms;
  }
}

// --- the measurement, continued ---------------------------------------------------------------

TEST(WindowGrowth, CountsWhatWaitedForAHandler) {
  const Limits limits;
  WindowBudget budget(64 * mib);
  WindowGrowth growth(limits, &budget);
  ASSERT_TRUE(growth.begin(mib / 4));
  growth.arrived(mib / 12 + 1);
  EXPECT_TRUE(growth.end(0, unknown));
}

TEST(WindowGrowth, IsNotMeasuredWithoutABudget) {
  const Limits limits;
  WindowGrowth growth(limits, nullptr);
  EXPECT_FALSE(growth.begin(0));
  EXPECT_FALSE(growth.begin_upload(64 * mib));
  EXPECT_FALSE(growth.end(0, unknown));
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
  EXPECT_EQ(opened(said, 0), 3 * mib);
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

}  // namespace window_growth_test
}  // namespace h2server::http::h2
