#include "h2server/rate_limit.h"

#include <gtest/gtest.h>

#include <atomic>
#include <limits>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "http/middleware_support.h"
#include "server/rate_limiter.h"

namespace h2server {
namespace rate_limit_test {

using server::RateLimiter;
using tests::Passage;

TEST(RateLimiter, GivesABurstAndThenTheRate) {
  RateLimiter limiter({.ns_per_token = 100, .burst_max = 3, .keys_max = 8});
  struct Row {
    std::int64_t now_ns;
    std::uint64_t key;
    std::int64_t wait_ns;
  };
  const std::vector<Row> rows = {
      {1000, 1, 0},   {1000, 1, 0}, {1000, 1, 0},   {1000, 1, 100},
      {1000, 1, 100}, {1000, 2, 0},  // another key
      {1099, 1, 1},   {1100, 1, 0}, {1100, 1, 100}, {1250, 1, 0},
      {1250, 1, 50},  {1300, 1, 0}, {1300, 1, 100}, {2000, 1, 0},
      {2000, 1, 0},   {2000, 1, 0}, {2000, 1, 100},  // full, not more than full
  };
  for (const Row& row : rows) {
    EXPECT_EQ(limiter.take(row.key, row.now_ns), row.wait_ns) << row.now_ns;
  }
}

// One client has many keys: those that are refused stay refused.
TEST(RateLimiter, ANewKeyTakesTheFullestBucket) {
  constexpr std::uint64_t groups = 4;
  RateLimiter limiter({.ns_per_token = 100, .burst_max = 2, .keys_max = groups * 8});
  EXPECT_EQ(limiter.take(0, 1000), 0);
  EXPECT_EQ(limiter.take(0, 1000), 0);
  EXPECT_EQ(limiter.take(0, 1000), 100);
  for (std::uint64_t key = 1; key < 100'000; ++key) ASSERT_EQ(limiter.take(key, 1000), 0) << key;
  EXPECT_EQ(limiter.take(0, 1000), 100);
  // Those of the others that are gone begin anew.
  EXPECT_EQ(limiter.take(groups, 1000), 0);
  EXPECT_EQ(limiter.take(groups, 1000), 0);
  EXPECT_EQ(limiter.take(groups, 1000), 100);
}

TEST(RateLimiter, ChargesAndTellsTheWait) {
  RateLimiter limiter({.ns_per_token = 100, .burst_max = 2, .keys_max = 8});
  EXPECT_EQ(limiter.wait_ns(1, 1000), 0);
  limiter.charge(1, 1000);
  EXPECT_EQ(limiter.wait_ns(1, 1000), 0);
  EXPECT_EQ(limiter.take(1, 1000), 0);
  EXPECT_EQ(limiter.wait_ns(1, 1000), 100);
  EXPECT_EQ(limiter.take(1, 1000), 100);
  limiter.charge(1, 1000);  // a debt
  EXPECT_EQ(limiter.wait_ns(1, 1000), 200);
  EXPECT_EQ(limiter.wait_ns(1, 1150), 50);
  EXPECT_EQ(limiter.wait_ns(1, 1200), 0);
  EXPECT_EQ(limiter.take(1, 1200), 0);
  EXPECT_EQ(limiter.wait_ns(2, 1000), 0);  // another key
}

TEST(RateLimiter, SmallTablesAndExtremes) {
  RateLimiter one({.ns_per_token = 1000, .burst_max = 1, .keys_max = 1});
  constexpr std::uint64_t last = std::numeric_limits<std::uint64_t>::max();
  for (const std::uint64_t key : {std::uint64_t{0}, last}) {
    EXPECT_EQ(one.take(key, 1), 0);
    EXPECT_EQ(one.take(key, 1), 1000);
    EXPECT_EQ(one.take(key, 1000), 1);
  }
}

TEST(RateLimiter, CountsForAllThreads) {
  constexpr int threads = 4;
  constexpr int rounds = 1000;
  RateLimiter limiter({.ns_per_token = 1'000'000, .burst_max = 1000, .keys_max = 100});
  std::atomic<int> taken = 0;
  std::vector<std::jthread> all;
  for (int i = 0; i < threads; ++i) {
    all.emplace_back([&] {
      for (int round = 0; round < rounds; ++round) {
        if (limiter.take(7, 1) == 0) ++taken;
      }
    });
  }
  all.clear();
  EXPECT_EQ(taken, 1000);
}

TEST(RateLimit, RefusesWithRetryAfter) {
  Passage passage(rate_limit(
      {.key = [](const Request& request) { return std::string(request.field("key").value_or("")); },
       .requests_per_s = 0.01,
       .burst_max = 2}));
  const std::string long_key(100'000, 'k');
  const std::vector<std::string> keys = {"", "a", "b", long_key, long_key + "1", "a\r\nb"};
  for (const std::string& key : keys) {
    const tests::FieldRows fields = {{"key", key}};
    EXPECT_EQ(passage.get(fields).status(), 200);
    EXPECT_EQ(passage.get(fields).status(), 200);
    const Response refused = passage.get(fields);
    EXPECT_EQ(refused.status(), 429);
    const int wait_s = std::stoi(std::string(refused.find("Retry-After").value_or("0")));
    EXPECT_GT(wait_s, 0);
    EXPECT_LE(wait_s, 100);
  }
}

class From final : public ConnectionInfo {
 public:
  explicit From(std::string host) : host_(std::move(host)) {}
  [[nodiscard]] Address client() const override { return {.host = host_, .port = 1}; }

 private:
  std::string host_;
};

TEST(ClientNetwork, Table) {
  const std::vector<std::pair<std::string, std::string>> rows = {
      {"192.0.2.1", "192.0.2.1"},
      {"2001:db8:0:1:2:3:4:5", "2001:db8:0:1::/64"},
      {"2001:db8:0:1::", "2001:db8:0:1::/64"},
      {"2001:db8:0:1:ffff:ffff:ffff:ffff", "2001:db8:0:1::/64"},
      {"2001:db8:0:2::1", "2001:db8:0:2::/64"},
      {"::1", "::/64"},
      {"fe80::1%eth0", "fe80::/64"},
      {"", ""},
  };
  for (const auto& [host, network] : rows) {
    const RequestHead head;
    const PathParams params;
    const From connection(host);
    const Request request(head, params, nullptr, nullptr, &connection);
    EXPECT_EQ(client_network(request), network) << host;
  }
}

TEST(RateLimit, RefusesOptions) {
  const auto key = [](const Request&) { return std::string(); };
  const double not_a_number = std::numeric_limits<double>::quiet_NaN();
  for (const RateLimitOptions& options : {
           RateLimitOptions{.key = nullptr},
           RateLimitOptions{.key = key, .requests_per_s = 0},
           RateLimitOptions{.key = key, .requests_per_s = -1},
           RateLimitOptions{.key = key, .requests_per_s = not_a_number},
           RateLimitOptions{.key = key, .requests_per_s = 2e6},
           RateLimitOptions{.key = key, .requests_per_s = 1e-9},
           RateLimitOptions{.key = key, .burst_max = 0},
           RateLimitOptions{.key = key, .requests_per_s = 1, .burst_max = 4'000'000'000},
           RateLimitOptions{.key = key, .keys_max = 0},
       }) {
    EXPECT_THROW(static_cast<void>(rate_limit(options)), std::invalid_argument);
  }
}

}  // namespace rate_limit_test
}  // namespace h2server
