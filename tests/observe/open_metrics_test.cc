#include "observe/open_metrics.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <string>
#include <vector>

namespace h2server::observe {
namespace open_metrics_test {

using Type = OpenMetricsWriter::Type;

TEST(OpenMetrics, NothingIsATextToo) { EXPECT_EQ(OpenMetricsWriter().finish(), "# EOF\n"); }

TEST(OpenMetrics, FamiliesOfEachType) {
  OpenMetricsWriter writer;
  writer.family("a", Type::counter, "", "Counts a.");
  writer.sample({}, std::uint64_t{18'446'744'073'709'551'615U});
  writer.sample({{"x", "1"}, {"y", "2"}}, std::uint64_t{0});
  writer.family("b_bytes", Type::gauge, "bytes", "B.");
  writer.sample({}, 0.25);
  writer.sample({{"x", ""}}, std::uint64_t{3});
  writer.family("c", Type::info, "", "C.");
  writer.sample({{"version", "1.0"}}, std::uint64_t{1});
  EXPECT_EQ(writer.finish(), "# TYPE a counter\n# HELP a Counts a.\n"
                             "a_total 18446744073709551615\na_total{x=\"1\",y=\"2\"} 0\n"
                             "# TYPE b_bytes gauge\n# UNIT b_bytes bytes\n# HELP b_bytes B.\n"
                             "b_bytes 0.25\nb_bytes{x=\"\"} 3\n"
                             "# TYPE c info\n# HELP c C.\nc_info{version=\"1.0\"} 1\n# EOF\n");
}

TEST(OpenMetrics, LabelsOfAnyBytes) {
  OpenMetricsWriter writer;
  writer.family("a", Type::gauge, "", "\\ \" \n");
  writer.sample({{"x", "a\"b\\c\nd \xc3\xbc \xff,{}="}}, std::uint64_t{1});
  EXPECT_EQ(writer.finish(), "# TYPE a gauge\n# HELP a \\\\ \\\" \\n\n"
                             "a{x=\"a\\\"b\\\\c\\nd \xc3\xbc \xef\xbf\xbd,{}=\"} 1\n# EOF\n");
}

TEST(OpenMetrics, BucketsAreCumulative) {
  constexpr std::array<std::uint32_t, 3> bounds{100, 2'500, 10'000'000};
  constexpr std::array<std::uint64_t, 4> counts{1, 0, 2, 4};
  OpenMetricsWriter writer;
  writer.family("d_seconds", Type::histogram, "seconds", "D.");
  writer.histogram({{"x", "1"}}, bounds, counts, 1'500'000);
  writer.histogram({}, bounds, counts, 7);
  EXPECT_EQ(writer.finish(),
            "# TYPE d_seconds histogram\n# UNIT d_seconds seconds\n# HELP d_seconds D.\n"
            "d_seconds_bucket{x=\"1\",le=\"0.0001\"} 1\n"
            "d_seconds_bucket{x=\"1\",le=\"0.0025\"} 1\n"
            "d_seconds_bucket{x=\"1\",le=\"10.0\"} 3\n"
            "d_seconds_bucket{x=\"1\",le=\"+Inf\"} 7\n"
            "d_seconds_count{x=\"1\"} 7\nd_seconds_sum{x=\"1\"} 1.5\n"
            "d_seconds_bucket{le=\"0.0001\"} 1\nd_seconds_bucket{le=\"0.0025\"} 1\n"
            "d_seconds_bucket{le=\"10.0\"} 3\nd_seconds_bucket{le=\"+Inf\"} 7\n"
            "d_seconds_count 7\nd_seconds_sum 0.000007\n# EOF\n");
}

TEST(OpenMetrics, Requests) {
  WorkerMetrics worker(2);
  AccessRecord record;
  record.method = "GET";
  record.status = 200;
  record.version = 20;
  record.duration_us = 200;
  record.response_bytes = 158;
  worker.count_request(1, record);
  worker.count_request(1, record);
  record.status = 0;
  record.cut_off = CutOff::client_left;
  worker.count_request(1, record);
  Totals totals;
  worker.add_to(totals);
  const std::vector<std::string> sites{"idle", "shop"};
  OpenMetricsWriter writer;
  write_requests(writer, sites, totals);
  const std::string text = writer.finish();
  EXPECT_EQ(text.find("idle"), text.npos) << "a site without requests has no samples";
  EXPECT_TRUE(text.starts_with(
      "# TYPE h2server_http_requests counter\n"
      "# HELP h2server_http_requests Requests that have ended.\n"
      "h2server_http_requests_total{site=\"shop\",method=\"GET\",status_class=\"none\","
      "protocol=\"2\"} 1\n"
      "h2server_http_requests_total{site=\"shop\",method=\"GET\",status_class=\"2xx\","
      "protocol=\"2\"} 2\n"
      "# TYPE h2server_http_request_duration_seconds histogram\n"
      "# UNIT h2server_http_request_duration_seconds seconds\n"))
      << text;
  for (const std::string& line : {
           std::string(
               "h2server_http_request_duration_seconds_bucket{site=\"shop\",le=\"0.0001\"} 0"),
           std::string(
               "h2server_http_request_duration_seconds_bucket{site=\"shop\",le=\"0.00025\"} 3"),
           std::string("h2server_http_request_duration_seconds_sum{site=\"shop\"} 0.0006"),
           std::string("h2server_http_response_body_bytes_total{site=\"shop\"} 474"),
           std::string("h2server_http_request_body_bytes_total{site=\"shop\"} 0"),
           std::string("h2server_http_responses_cut_off_total{site=\"shop\","
                       "reason=\"client_left\"} 1"),
       }) {
    EXPECT_NE(text.find("\n" + line + "\n"), text.npos) << line << "\n" << text;
  }
}

TEST(OpenMetrics, Connections) {
  Totals totals;
  totals.workers.handshake[static_cast<std::size_t>(Handshake::no_common_choice)] = 2;
  totals.workers.group[static_cast<std::size_t>(group_of("X25519MLKEM768"))] = 7;
  totals.workers.group[static_cast<std::size_t>(group_of("ffdhe2048"))] = 8;
  totals.workers.connections_open[static_cast<std::size_t>(Protocol::http_2)] = 3;
  totals.workers.connections_opened[static_cast<std::size_t>(Protocol::http_1_1)] = 4;
  totals.workers.reset[static_cast<std::size_t>(Reset::by_client)] = 5;
  totals.workers.flood[static_cast<std::size_t>(Flood::idle_frames)] = 6;
  OpenMetricsWriter writer;
  write_connections(writer, totals);
  const std::string text = writer.finish();
  for (const char* const line : {
           "h2server_tls_handshakes_total{result=\"no_common_choice\"} 2",
           "h2server_tls_handshakes_total{result=\"full\"} 0",
           "h2server_tls_key_exchanges_total{group=\"X25519MLKEM768\"} 7",
           "h2server_tls_key_exchanges_total{group=\"x25519\"} 0",
           "h2server_tls_key_exchanges_total{group=\"other\"} 8",
           "h2server_connections_open{protocol=\"1.1\"} 0",
           "h2server_connections_open{protocol=\"2\"} 3",
           "h2server_connections_opened_total{protocol=\"1.1\"} 4",
           "h2server_http2_stream_resets_total{by=\"client\"} 5",
           "h2server_http2_floods_total{kind=\"idle_frames\"} 6",
       }) {
    EXPECT_NE(text.find("\n" + std::string(line) + "\n"), text.npos) << line << "\n" << text;
  }
  EXPECT_EQ(text.find("\"1.0\""), text.npos) << "no connection is of that version";
}

template <class Kind>
void expect_distinct_names(std::size_t count) {
  std::vector<std::string_view> names;
  for (std::size_t kind = 0; kind < count; ++kind) {
    names.push_back(name_of(static_cast<Kind>(kind)));
    EXPECT_FALSE(names.back().empty());
  }
  std::ranges::sort(names);
  EXPECT_EQ(std::ranges::adjacent_find(names), names.end());
}

TEST(OpenMetrics, EachKindHasItsName) {
  expect_distinct_names<Method>(methods);
  expect_distinct_names<Protocol>(protocols);
  expect_distinct_names<Handshake>(handshake_results);
  expect_distinct_names<Reset>(reset_kinds);
  expect_distinct_names<Flood>(flood_kinds);
}

}  // namespace open_metrics_test
}  // namespace h2server::observe
