#include "app/admin/status_json.h"

#include <gtest/gtest.h>

namespace h2server::app {
namespace status_json_test {

ServerStatus status_with(std::vector<std::uint64_t> durations, std::uint64_t bytes) {
  ServerStatus status;
  status.duration_bounds_us = {100, 250};
  status.durations = std::move(durations);
  status.hosts = {{.name = "", .requests = 3, .errors = 1, .response_bytes = bytes}};
  return status;
}

TEST(History, HoldsWhatWasDoneInEachSecond) {
  History history;
  history.add(status_with({1, 0, 0}, 10), 100.0);
  EXPECT_TRUE(history.entries().empty()) << "nothing to compare with";
  history.add(status_with({4, 1, 2}, 25), 101.2);
  history.add(status_with({4, 1, 3}, 25), 102.1);
  history.add(status_with({5, 1, 3}, 26), 109.0);
  ASSERT_EQ(history.entries().size(), 3U);
  EXPECT_EQ(history.entries()[0].requests, 6U);
  EXPECT_EQ(history.entries()[0].response_bytes, 15U);
  EXPECT_EQ(history.entries()[0].counts, (std::vector<std::uint64_t>{3, 1, 2}));
  EXPECT_DOUBLE_EQ(history.entries()[0].unix_s, 101.2);
  EXPECT_DOUBLE_EQ(history.entries()[1].unix_s, 102.2) << "early, but the next second";
  EXPECT_DOUBLE_EQ(history.entries()[2].unix_s, 109.0) << "a real gap";
}

TEST(History, KeepsTwoMinutes) {
  History history;
  for (std::uint64_t i = 0; i < 200; ++i) {
    history.add(status_with({i, 0, 0}, i), 100.0 + static_cast<double>(i));
  }
  EXPECT_EQ(history.entries().size(), History::entries_max);
  EXPECT_DOUBLE_EQ(history.entries().back().unix_s, 299.0);
}

TEST(StatusJson, EscapesWhatClientsSend) {
  ServerStatus status = status_with({1, 0, 0}, 10);
  status.paths = {{"/a\"\n\xff</script>", 2}};
  status.uploads = {{.host = "h", .path = "/u", .received = 1, .size = {}, .age_s = 2}};
  ServerStatus::Connection& connection = status.connections.emplace_back();
  connection.protocol = "HTTP/2";
  connection.client = "192.0.2.1";
  const StatusFacts facts{.scheme = "reuseport",
                          .engine = "epoll",
                          .started_unix_s = 90,
                          .unix_s = 100,
                          .certificates = {{"a", "/crt", {"a.test"}, -2}}};
  const std::string json = status_json(status, facts, {}, 10);
  for (const char* const part :
       {"\"uptime_s\":10.0", "\"path\":\"/a\\\"\\u000a\xef\xbf\xbd</script>\"", "\"size\":null",
        "\"idle\":true", "\"days_left\":-2", "\"names\":[\"a.test\"]", "\"history\":[]",
        "\"latency_bounds_us\":[100,250]", "\"errors_5xx\":1"}) {
    EXPECT_NE(json.find(part), std::string::npos) << part << " in " << json;
  }
}

TEST(StatusJson, HasTheLastEntriesAlone) {
  History history;
  for (std::uint64_t i = 0; i < 4; ++i) {
    history.add(status_with({i, 0, 0}, i), 100.0 + static_cast<double>(i));
  }
  const StatusFacts facts{.scheme = "", .engine = ""};
  const std::string json = status_json(status_with({4, 0, 0}, 4), facts, history.entries(), 1);
  EXPECT_NE(json.find("\"history\":[{\"unix_s\":103.000,"), std::string::npos) << json;
}

}  // namespace status_json_test
}  // namespace h2server::app
