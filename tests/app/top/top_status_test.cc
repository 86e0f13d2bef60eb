#include "app/top/top_status.h"

#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace h2server::app {
namespace top_status_test {

TopStatus parsed(std::string_view json) {
  const auto status = parse_top_status(json);
  EXPECT_TRUE(status) << json;
  return status.value_or(TopStatus{});
}

TEST(TopStatus, ReadsAllMembers) {
  const TopStatus status = parsed(R"({
    "version":"0.2.0","uptime_s":123.9,"unix_s":1.5,"pid":7,"scheme":"reuseport","engine":"epoll",
    "totals":{"requests":1,"response_bytes":2,"connections":3,"streams":4,"errors_5xx":5},
    "latency_bounds_us":[100,250],
    "history":[{"unix_s":10.5,"requests":6,"response_bytes":7,"counts":[1,2,3]}],
    "sites":[{"name":"a","requests":1,"errors":2,"response_bytes":3}],
    "paths":[{"path":"/x","count":8}],
    "workers":[{"number":1,"connections":2,"streams":3,"requests":4,"waiting":5}],
    "connections":[{"worker":1,"protocol":"HTTP/2","tls":"TLSv1.3","client":"192.0.2.1","age_s":12,
                    "idle":true,"requests":3,"active":4,"upload_bytes":5}],
    "connections_left_out":9,
    "cache":{"files":1,"bytes":2,"bytes_max":3,"snapshot_bytes":4,"snapshot_bytes_max":5,"hits":6,
             "misses":7},
    "memory":{"bytes":1,"bytes_max":2,"refused":3,"cut_off":4,"owners":[]},
    "uploads":[{"site":"s","path":"/f","received":1,"size":null,"age_s":2}],
    "certificates":[{"site":"a","file":"/f","names":["a","b"],"days_left":-1.5}],
    "log":{"lines":1,"dropped":2}})");
  EXPECT_EQ(status.version, "0.2.0");
  EXPECT_EQ(status.uptime_s, 123u);
  EXPECT_EQ(status.pid, 7u);
  EXPECT_EQ(status.scheme + status.engine, "reuseportepoll");
  EXPECT_EQ(status.requests, 1u);
  EXPECT_EQ(status.response_bytes, 2u);
  EXPECT_EQ(status.connections, 3u);
  EXPECT_EQ(status.streams, 4u);
  EXPECT_EQ(status.errors_5xx, 5u);
  EXPECT_EQ(status.bounds_us, (std::vector<std::uint64_t>{100, 250}));
  EXPECT_EQ(status.history, (std::vector<TopSecond>{{10.5, 6, 7, {1, 2, 3}}}));
  ASSERT_EQ(status.sites.size(), 1u);
  EXPECT_EQ(status.sites[0].errors, 2u);
  ASSERT_EQ(status.paths.size(), 1u);
  EXPECT_EQ(status.paths[0].count, 8u);
  ASSERT_EQ(status.workers.size(), 1u);
  EXPECT_EQ(status.workers[0].waiting, 5u);
  ASSERT_EQ(status.connection_list.size(), 1u);
  EXPECT_TRUE(status.connection_list[0].idle);
  EXPECT_EQ(status.connection_list[0].upload_bytes, 5u);
  EXPECT_EQ(status.connections_left_out, 9u);
  EXPECT_EQ(status.cache.misses, 7u);
  EXPECT_EQ(status.memory.bytes, 1u);
  EXPECT_EQ(status.memory.bytes_max, 2u);
  EXPECT_EQ(status.memory.refused, 3u);
  EXPECT_EQ(status.memory.cut_off, 4u);
  ASSERT_EQ(status.uploads.size(), 1u);
  EXPECT_EQ(status.uploads[0].path, "s/f");
  EXPECT_EQ(status.uploads[0].size, std::nullopt);
  ASSERT_EQ(status.certificates.size(), 1u);
  EXPECT_EQ(status.certificates[0].names, "a, b");
  EXPECT_EQ(status.certificates[0].days_left, -2);
  EXPECT_EQ(status.log_dropped, 2u);
}

TEST(TopStatus, MembersMayBeMissingOrOfAnotherType) {
  for (const std::string_view json :
       {"{}", R"({"version":1,"totals":[],"history":{},"sites":[1,null],"connections":"x",
                  "cache":null,"log":7,"pid":-1,"uptime_s":1e300,"latency_bounds_us":7})"}) {
    const TopStatus status = parsed(json);
    EXPECT_EQ(status.version, "");
    EXPECT_EQ(status.requests, std::nullopt);
    EXPECT_EQ(status.pid, std::nullopt);
    EXPECT_EQ(status.uptime_s, std::nullopt);
    EXPECT_TRUE(status.history.empty() && status.sites.empty() && status.connection_list.empty());
    EXPECT_TRUE(status.bounds_us.empty());
    EXPECT_EQ(status.cache.hits, std::nullopt);
  }
}

TEST(TopStatus, RefusesWhatIsNoObject) {
  for (const std::string_view json : {"", "[]", "1", "{", "{}{}", "<html>", "{\"a\":\"\xff\"}"}) {
    EXPECT_FALSE(parse_top_status(json)) << json;
  }
}

TEST(TopStatus, HistoryIsMerged) {
  std::vector<TopSecond> history;
  TopStatus status;
  status.history = {{1.1, 10, 0, {}}, {2.1, 20, 0, {}}};
  add_history(history, status);
  status.history = {{2.0, 21, 0, {}}, {4.0, 40, 0, {}}, {3.0, 30, 0, {}}};
  add_history(history, status);
  std::vector<std::uint64_t> requests;
  for (const TopSecond& second : history) requests.push_back(second.requests);
  EXPECT_EQ(requests, (std::vector<std::uint64_t>{10, 21, 30, 40}));
  status.history = {{122.0, 1, 0, {}}};
  add_history(history, status);
  EXPECT_EQ(history.front().requests, 30u) << "the others are two minutes old";
}

TEST(TopStatus, CountsAreSummed) {
  const std::vector<TopSecond> history = {
      {1, 0, 0, {1, 1, 1}}, {2, 0, 0, {1, 2}}, {3, 0, 0, {10, 20, 30}}};
  using Counts = std::vector<std::uint64_t>;
  EXPECT_EQ(summed_counts(history, 1), (Counts{10, 20, 30}));
  EXPECT_EQ(summed_counts(history, 2), (Counts{11, 22, 30}));
  EXPECT_EQ(summed_counts(history, 120), (Counts{12, 23, 31}));
  EXPECT_EQ(summed_counts({}, 120), Counts{});
}

TEST(TopStatus, Quantiles) {
  struct Row {
    std::vector<std::uint64_t> counts;
    double share;
    std::optional<std::size_t> bucket;
  };
  const std::vector<Row> rows = {
      {{}, 0.5, std::nullopt}, {{0, 0}, 0.5, std::nullopt}, {{1}, 0.99, 0},
      {{50, 50}, 0.5, 0},      {{50, 51}, 0.5, 1},          {{99, 0, 1}, 0.99, 0},
      {{98, 0, 2}, 0.99, 2},   {{0, 0, 5}, 0, 2},           {{3, 0, 4, 0}, 1, 2},
  };
  for (const Row& row : rows) EXPECT_EQ(quantile_bucket(row.counts, row.share), row.bucket);
}

}  // namespace top_status_test
}  // namespace h2server::app
