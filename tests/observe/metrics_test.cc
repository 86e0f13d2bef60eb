#include "observe/metrics.h"

#include <gtest/gtest.h>

#include <numeric>
#include <string_view>
#include <thread>
#include <vector>

namespace h2server::observe {
namespace metrics_test {

AccessRecord record_of(std::string_view method, int status, std::uint8_t version) {
  AccessRecord record;
  record.method = method;
  record.status = status;
  record.version = version;
  record.target = "/";
  return record;
}

std::uint64_t all_requests(const SiteNumbers<std::uint64_t>& site) {
  return std::accumulate(site.requests.begin(), site.requests.end(), std::uint64_t{0});
}

TEST(Metrics, Methods) {
  struct Row {
    std::string_view name;
    Method method;
  };
  for (const Row& row : {
           Row{"GET", Method::get},
           Row{"HEAD", Method::head},
           Row{"POST", Method::post},
           Row{"PUT", Method::put},
           Row{"PATCH", Method::patch},
           Row{"DELETE", Method::remove},
           Row{"OPTIONS", Method::options},
           Row{"CONNECT", Method::other},
           Row{"get", Method::other},
           Row{"", Method::other},
           Row{"PROPFIND", Method::other},
           Row{"GETS", Method::other},
           Row{"TRACE", Method::other},
           Row{"UNLINK", Method::other},
       }) {
    EXPECT_EQ(method_of(row.name), row.method) << row.name;
  }
}

TEST(Metrics, BucketsHoldTheirBounds) {
  EXPECT_EQ(duration_bucket(-1), 0U);
  EXPECT_EQ(duration_bucket(0), 0U);
  EXPECT_EQ(duration_bucket(INT64_MAX), 16U);
  for (std::size_t at = 0; at < duration_bounds_us.size(); ++at) {
    EXPECT_EQ(duration_bucket(duration_bounds_us[at] - 1), at);
    EXPECT_EQ(duration_bucket(duration_bounds_us[at]), at);
    EXPECT_EQ(duration_bucket(duration_bounds_us[at] + 1), at + 1);
  }
  for (std::int64_t us = 1; us < 20'000'000; us += 1 + us / 50) {
    const std::size_t bucket = duration_bucket(us);
    if (bucket > 0) {
      EXPECT_GT(us, duration_bounds_us[bucket - 1]);
    }
    if (bucket < duration_bounds_us.size()) {
      EXPECT_LE(us, duration_bounds_us[bucket]);
    }
  }
}

TEST(Metrics, ARequestCountsInEachOfItsCells) {
  WorkerMetrics worker(2);
  AccessRecord record = record_of("POST", 404, 20);
  record.duration_us = 300;
  record.response_bytes = 1000;
  record.request_bytes = 20;
  record.cut_off = CutOff::too_slow;
  worker.count_request(1, record);
  record.duration_us = 700;
  worker.count_request(1, record);
  Totals totals;
  worker.add_to(totals);
  ASSERT_EQ(totals.sites.size(), 2U);
  EXPECT_EQ(all_requests(totals.sites[0]), 0U);
  const auto& site = totals.sites[1];
  EXPECT_EQ(all_requests(site), 2U);
  EXPECT_EQ(site.requests[request_cell(Method::post, 4, Protocol::http_2)], 2U);
  EXPECT_EQ(site.durations[2], 1U);
  EXPECT_EQ(site.durations[3], 1U);
  EXPECT_EQ(site.duration_us, 1000U);
  EXPECT_EQ(site.response_bytes, 2000U);
  EXPECT_EQ(site.request_bytes, 40U);
  EXPECT_EQ(site.cut_off[static_cast<std::size_t>(CutOff::too_slow)], 2U);
}

TEST(Metrics, StatusClassesAndProtocols) {
  struct Row {
    int status;
    std::uint8_t version;
    std::size_t status_class;
    Protocol protocol;
  };
  for (const Row& row : {
           Row{0, 10, 0, Protocol::http_1_0},
           Row{100, 11, 1, Protocol::http_1_1},
           Row{204, 20, 2, Protocol::http_2},
           Row{399, 11, 3, Protocol::http_1_1},
           Row{500, 11, 5, Protocol::http_1_1},
           Row{599, 11, 5, Protocol::http_1_1},
           Row{600, 11, 0, Protocol::http_1_1},
           Row{-200, 11, 0, Protocol::http_1_1},
       }) {
    WorkerMetrics worker(1);
    worker.count_request(0, record_of("GET", row.status, row.version));
    Totals totals;
    worker.add_to(totals);
    EXPECT_EQ(totals.sites[0].requests[request_cell(Method::get, row.status_class, row.protocol)],
              1U)
        << row.status;
  }
}

TEST(Metrics, CellsAreDistinct) {
  std::vector<int> seen(methods * status_classes * protocols);
  for (std::size_t method = 0; method < methods; ++method) {
    for (std::size_t status_class = 0; status_class < status_classes; ++status_class) {
      for (std::size_t protocol = 0; protocol < protocols; ++protocol) {
        ++seen.at(request_cell(static_cast<Method>(method), status_class,
                               static_cast<Protocol>(protocol)));
      }
    }
  }
  EXPECT_EQ(seen, std::vector<int>(seen.size(), 1));
}

TEST(Metrics, TotalsAreTheSumOverWorkers) {
  WorkerMetrics first(1);
  WorkerMetrics second(3);  // made after a site was added
  first.count_request(0, record_of("GET", 200, 11));
  second.count_request(0, record_of("GET", 200, 11));
  second.count_request(2, record_of("GET", 200, 11));
  first.numbers.connections_open[1].up();
  second.numbers.connections_open[1].up();
  second.numbers.handshake[static_cast<std::size_t>(Handshake::resumed)].up();
  second.numbers.reset[1].up();
  second.numbers.flood[2].up();
  second.numbers.connections_opened[0].up();
  Totals totals;
  first.add_to(totals);
  second.add_to(totals);
  ASSERT_EQ(totals.sites.size(), 3U);
  EXPECT_EQ(all_requests(totals.sites[0]), 2U);
  EXPECT_EQ(all_requests(totals.sites[1]), 0U);
  EXPECT_EQ(all_requests(totals.sites[2]), 1U);
  EXPECT_EQ(totals.workers.connections_open[1], 2U);
  EXPECT_EQ(totals.workers.handshake[1], 1U);
  EXPECT_EQ(totals.workers.reset[1], 1U);
  EXPECT_EQ(totals.workers.flood[2], 1U);
  EXPECT_EQ(totals.workers.connections_opened[0], 1U);
}

TEST(Metrics, AreReadWhileTheyAreCounted) {
  constexpr std::uint64_t requests = 100'000;
  WorkerMetrics worker(50);
  std::thread counting([&worker] {
    for (std::uint32_t request = 0; request < requests; ++request) {
      worker.count_request(request % 50, record_of("GET", 200, 20));
    }
  });
  std::uint64_t seen = 0;
  while (seen < requests) {
    Totals totals;
    worker.add_to(totals);
    std::uint64_t sum = 0;
    for (const auto& site : totals.sites) sum += all_requests(site);
    ASSERT_GE(sum, seen);
    seen = sum;
  }
  counting.join();
  EXPECT_EQ(seen, requests);
}

TEST(Metrics, PathsAreCountedWhileSomebodyWatches) {
  WorkerMetrics worker(1);
  AccessRecord record = record_of("GET", 200, 11);
  record.target = "/a?secret";
  worker.count_request(0, record);
  EXPECT_TRUE(worker.top_paths().all().empty());
  worker.watch(true);
  worker.count_request(0, record);
  worker.watch(false);
  worker.count_request(0, record);
  const auto all = worker.top_paths().all();
  ASSERT_EQ(all.size(), 1U);
  EXPECT_EQ(all[0].path, "/a");
  EXPECT_EQ(all[0].count, 1U);
}

}  // namespace metrics_test
}  // namespace h2server::observe
