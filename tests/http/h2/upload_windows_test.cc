// Tests how wide the receive windows are for uploads, in both sessions: what a client may send, and
// what is left of the budget. The client is libnghttp2's; an exchange of all bytes is a round trip.
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "http/h2/session_host.h"

namespace h2server::http::h2 {
namespace upload_windows_test {

constexpr std::uint32_t mib = 1024 * 1024;
constexpr std::int64_t budget_bytes = Limits().windows_gain_bytes_max;

// A client and its connection.
struct Line {
  Line(Http2Implementation implementation, WindowBudget& budget) : host(implementation) {
    host.windows = &budget;
    host.reads = true;
    host.open();
  }
  // Returns how often bytes went back and forth until there were none.
  int settle() {
    for (int trips = 0;; ++trips) {
      const std::string to_server = client.bytes();
      host.receive(to_server);
      const std::string to_client = host.take();
      client.receive(to_client);
      if (to_server.empty() && to_client.empty()) return trips;
    }
  }
  // Begins an upload of `length` bytes by a request that goes with its first bytes.
  std::int32_t begin(std::uint64_t length, std::size_t first = 1000) {
    return client.request("POST", "/", {{"content-length", std::to_string(length)}},
                          std::string(first, 'x'), false);
  }
  // Return what the client may still send.
  std::int64_t left(std::int32_t id) {
    return nghttp2_session_get_stream_remote_window_size(client.get(), id);
  }
  std::int64_t left() { return nghttp2_session_get_remote_window_size(client.get()); }

  SessionHost host;
  Nghttp2Client client;
};

struct UploadWindows : testing::TestWithParam<Http2Implementation> {
  WindowBudget budget{budget_bytes};
  Line line{GetParam(), budget};
};

INSTANTIATE_TEST_SUITE_P(, UploadWindows,
                         testing::Values(Http2Implementation::native, Http2Implementation::nghttp2),
                         name_of_parameter);

TEST_P(UploadWindows, AreOpenedForTheContent) {
  struct Row {
    const char* name;
    Headers fields;
    bool reads;
    std::uint32_t gain;
  };
  const std::vector<Row> rows = {
      {"fits the first window", {{"content-length", "1048576"}}, true, 0},
      {"16 MiB", {{"content-length", "16777216"}}, true, 15 * mib},
      {"more than the bound", {{"content-length", "1000000000000"}}, true, 127 * mib},
      {"an unknown length", {}, true, 3 * mib},
      {"a handler that does not read", {{"content-length", "16777216"}}, false, 0},
  };
  for (const Row& row : rows) {
    SCOPED_TRACE(row.name);
    Line one(GetParam(), budget);
    one.settle();  // the client knows our SETTINGS
    EXPECT_EQ(budget.left(), budget_bytes) << "an idle connection holds none";
    one.host.reads = row.reads;
    const std::int32_t id = one.client.request("POST", "/", row.fields, "first", false);
    one.settle();
    EXPECT_EQ(one.left(id), mib + row.gain - 5);
    EXPECT_EQ(one.left(), 2 * mib + row.gain - 5);
    EXPECT_EQ(budget.left(), budget_bytes - row.gain);
  }
  EXPECT_EQ(budget.left(), budget_bytes) << "given back at the connection's end";
}

TEST_P(UploadWindows, AreWideInTheFirstRoundTrip) {
  line.begin(32 * mib, 32 * mib);  // sent before our SETTINGS were seen, as far as 64 KiB go
  EXPECT_EQ(line.settle(), 2);
  EXPECT_EQ(line.host.received[1].size(), 32 * mib);
}

TEST_P(UploadWindows, AreTakenBackWhileAnUploadEnds) {
  line.settle();
  const std::int32_t id = line.begin(16 * mib, 8 * mib);
  line.settle();
  EXPECT_GE(budget.left(), budget_bytes - 9 * mib) << "half of it came";
  line.client.send(id, std::string(8 * mib, 'x'), true);
  line.settle();
  EXPECT_EQ(line.host.received[1].size(), 16 * mib);
  EXPECT_EQ(budget.left(), budget_bytes) << "the connection is still open";
  EXPECT_GE(line.left(), mib);
  for (const std::uint32_t next : {3U, 5U}) {
    line.begin(40 * mib, 40 * mib);
    line.settle();
    EXPECT_EQ(line.host.received[next].size(), 40 * mib);
    EXPECT_EQ(budget.left(), budget_bytes);
  }
}

TEST_P(UploadWindows, BoundWhatWaitsForAHandler) {
  line.host.limits.stream_window_bytes_max = 8 * mib;
  line.host.open();
  line.settle();
  const std::int32_t id = line.begin(100 * mib, 1000);
  line.settle();
  line.host.consumes = false;
  line.client.send(id, std::string(20 * mib, 'x'), false);
  line.settle();
  EXPECT_EQ(line.host.received[1].size(), 8 * mib);
  EXPECT_EQ(budget.left(), budget_bytes - 7 * mib);
  EXPECT_EQ(line.left(), mib) << "for other streams";
}

// A slow handler bounds its client, and what waits for it shrinks to what it needs.
TEST_P(UploadWindows, ShrinkIfAHandlerLags) {
  line.host.limits.stream_window_bytes_max = 8 * mib;
  line.host.open();
  line.settle();
  const std::int32_t id = line.begin(100 * mib);
  line.settle();
  line.host.consumes = false;
  line.client.send(id, std::string(40 * mib, 'x'), false);
  line.settle();
  EXPECT_EQ(line.host.received[1].size(), 8 * mib);
  std::uint32_t consumed = 1000;
  for (; consumed < 16 * mib; consumed += mib / 4) {
    line.host.now_ms += 300;
    line.host.session->consume(line.host.exchange(1), mib / 4, Consumed::read);
    line.settle();
  }
  const std::size_t unread = line.host.received[1].size() - consumed;
  EXPECT_LE(unread, 2 * mib);
  EXPECT_GE(unread, mib / 2) << "the client goes on";
  EXPECT_EQ(budget.left(), budget_bytes);
}

TEST_P(UploadWindows, OpenForContentOfUnknownLengthByMeasurement) {
  line.settle();
  line.client.request("POST", "/", {}, std::string(40 * mib, 'x'));
  EXPECT_LE(line.settle(), 8);
  EXPECT_EQ(line.host.received[1].size(), 40 * mib);
  EXPECT_LE(budget.left(), budget_bytes - 15 * mib);
}

TEST_P(UploadWindows, AreLeftByAHundredConnectionsThatStall) {
  std::vector<std::unique_ptr<Line>> stalled;
  std::int64_t granted = 0;
  for (int i = 0; i < 100; ++i) {
    Line& one = *stalled.emplace_back(std::make_unique<Line>(GetParam(), budget));
    one.settle();
    const std::int32_t id = one.begin(std::uint64_t{1} << 40);
    one.settle();
    granted += one.left() + 1000 - 2 * mib;
    EXPECT_GE(one.left(id), (i == 0 ? 128 : 1) * mib - 1000) << i;
  }
  EXPECT_EQ(budget.left(), budget_bytes - granted);
  EXPECT_GE(budget.left(), budget_bytes / 2);
  {  // Windows of 1 MiB would take 33 round trips.
    Line another(GetParam(), budget);
    another.begin(32 * mib, 32 * mib);
    EXPECT_LE(another.settle(), 10);
    EXPECT_EQ(another.host.received[1].size(), 32 * mib);
  }
  EXPECT_EQ(budget.left(), budget_bytes - granted);
  stalled.clear();
  EXPECT_EQ(budget.left(), budget_bytes);
}

}  // namespace upload_windows_test
}  // namespace h2server::http::h2
