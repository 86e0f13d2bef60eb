#include "app/acme/acme_backoff.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <atomic>
#include <chrono>
#include <filesystem>
#include <functional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "app/acme/acme.h"
#include "app/acme_authority.h"
#include "app/acme_folder.h"
#include "app/events.h"
#include "base/clock.h"

namespace h2server::app {
namespace acme_backoff_test {

using tests::AcmeAuthority;
using tests::AcmeFolder;
using tests::Events;
using Hosts = std::vector<std::string>;

constexpr std::int64_t now_s = 1'764'000'000;
constexpr std::int64_t week_s = 7LL * 24 * 3600;

TEST(AcmeBackoff, IsReadAsItWasWritten) {
  const AcmeBackoff backoff{.order = acme_order_name("http-01", Hosts{"a.test", "www.a.test"}),
                            .failures = 3,
                            .last_s = now_s - 100,
                            .next_s = now_s + 140};
  const std::string text = to_text(backoff);
  EXPECT_EQ(text,
            "order: http-01 a.test www.a.test\nfailures: 3\nlast: 1763999900\nnext: 1764000140\n");
  EXPECT_EQ(parse_backoff(text, backoff.order, now_s), backoff);
  EXPECT_EQ(parse_backoff(text, backoff.order, now_s + 1'000'000), backoff);
}

TEST(AcmeBackoff, AnythingElseIsNone) {
  const auto text = [](std::string_view failures, std::int64_t last_s, std::int64_t next_s) {
    return fmt::format("order: a\nfailures: {}\nlast: {}\nnext: {}\n", failures, last_s, next_s);
  };
  const std::string good = text("1", now_s, now_s + week_s);
  EXPECT_TRUE(parse_backoff(good, "a", now_s));
  EXPECT_FALSE(parse_backoff(good, "b", now_s));
  EXPECT_FALSE(parse_backoff(good, "a", now_s - 1)) << "the clock was set back";
  for (std::size_t size = 0; size < good.size(); ++size) {
    EXPECT_FALSE(parse_backoff(good.substr(0, size), "a", now_s)) << size;
  }
  const std::string rows[] = {
      "x" + good,
      good + "x",
      text("0", now_s, now_s),
      text("-1", now_s, now_s),
      text("1000001", now_s, now_s),
      text("99999999999999999999", now_s, now_s),
      text("1", now_s, now_s - 1),
      text("1", now_s, now_s + week_s + 1),
      text("1", -1, 1),
      std::string(70'000, '\0'),
  };
  for (const std::string& row : rows) EXPECT_FALSE(parse_backoff(row, "a", now_s)) << row;
}

TEST(AcmeBackoff, IsAFileBesideTheCertificate) {
  const AcmeFolder folder;
  const AcmeFiles files = acme_files(folder.path(), "a.test");
  EXPECT_EQ(backoff_file(files), folder.path() + "/a.test.crt.failures");
  EXPECT_EQ(read_backoff(files), "");
  EXPECT_TRUE(keep_backoff(files, ""));
  EXPECT_TRUE(keep_backoff(files, "one"));
  EXPECT_TRUE(keep_backoff(files, "two"));
  EXPECT_EQ(read_backoff(files), "two");
  struct stat info{};
  ASSERT_EQ(::stat(backoff_file(files).c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 07777, 0600u);
  EXPECT_TRUE(keep_backoff(files, ""));
  EXPECT_FALSE(std::filesystem::exists(backoff_file(files)));
  const auto kept = keep_backoff(acme_files("/proc/self/x", "a.test"), "one");
  ASSERT_FALSE(kept);
  EXPECT_TRUE(kept.error().starts_with("acme: can't keep /proc/self/x/a.test.crt.failures: "))
      << kept.error();
}

// --- with an authority ---------------------------------------------------------------------------

class AcmeAfterFailures : public testing::Test {
 protected:
  AcmeAfterFailures() { authority_.set(failing()); }

  static AcmeAuthority::Behaviour failing() {
    return {.order_error = std::pair(500, std::string("<html>"))};
  }
  // A run of the program. Its clock stands still.
  void start(Hosts hosts = {"a.test"}) {
    AcmeSite site{.hosts = std::move(hosts), .files = files_};
    EXPECT_TRUE(prepare_acme_files(site.files));
    AcmeOptions options{.directory = "https://ca.test/directory",
                        .folder = folder_.path(),
                        .challenge = AcmeChallenges::Kind::http,
                        .sites = {std::move(site)},
                        .changed = [this] { changed_.add(); },
                        .now_s =
                            [this] {
                              looks_.add();
                              return clock_.load();
                            }};
    const auto send = [this, inner = authority_.transport()](
                          const AcmeRequest& request) -> Result<AcmeResponse, std::string> {
      auto response = inner(request);
      if (request.url != "https://ca.test/order") return response;
      if (holds_orders_) {
        orders_.add();
        given_up_.wait_for(1);
        return std::unexpected("given up");
      }
      looks_before_ = looks_.count();
      orders_.add();
      return response;
    };
    acme_.emplace(std::move(options),
                  AcmeClient{.transport = send, .give_up = [this] { given_up_.add(); }},
                  challenges_);
    ASSERT_TRUE(acme_->start());
  }
  // Until an order has failed, and the thread waits for the next try: it looks at the clock for
  // that, for the file, and for how long to wait.
  void wait_for_failure(unsigned orders) {
    orders_.wait_for(orders);
    looks_.wait_for(looks_before_ + 3);
    acme_->stop();
  }
  std::optional<AcmeBackoff> kept() {
    return parse_backoff(read_backoff(files_), "http-01 a.test", clock_.load());
  }

  AcmeAuthority authority_;
  AcmeChallenges challenges_;
  const AcmeFolder folder_;
  const AcmeFiles files_ = acme_files(folder_.path(), "a.test");
  std::atomic<std::int64_t> clock_ = base::unix_seconds();
  Events changed_;
  Events orders_;
  Events looks_;
  Events given_up_;
  std::atomic<unsigned> looks_before_ = 0;
  std::atomic<bool> holds_orders_ = false;
  std::optional<Acme> acme_;  // its thread uses what is above
};

TEST_F(AcmeAfterFailures, EachIsKept) {
  start();
  wait_for_failure(1);
  std::optional<AcmeBackoff> backoff = kept();
  ASSERT_TRUE(backoff);
  EXPECT_EQ(backoff->failures, 1u);
  EXPECT_EQ(backoff->last_s, clock_);
  EXPECT_GE(backoff->next_s, clock_ + 60);
  clock_ = backoff->next_s;
  start();
  wait_for_failure(2);
  backoff = kept();
  ASSERT_TRUE(backoff);
  EXPECT_EQ(backoff->failures, 2u);
  EXPECT_GE(backoff->next_s, clock_ + 120);
}

TEST_F(AcmeAfterFailures, ANewRunWaits) {
  start();
  wait_for_failure(1);
  clock_ = kept()->next_s - 1;
  const unsigned looks = looks_.count();
  start();
  looks_.wait_for(looks + 2);  // at its start, and for how long to wait
  acme_->stop();
  EXPECT_EQ(orders_.count(), 1u);
  EXPECT_EQ(kept()->failures, 1u);
}

TEST_F(AcmeAfterFailures, SuccessForgetsThem) {
  ASSERT_TRUE(keep_backoff(
      files_,
      to_text(
          {.order = "http-01 a.test", .failures = 5, .last_s = clock_ - 100, .next_s = clock_})));
  authority_.set({});
  start();
  changed_.wait_for(1);
  acme_->stop();
  EXPECT_FALSE(std::filesystem::exists(backoff_file(files_)));
}

// Each row: a file that does not hold up an order.
TEST_F(AcmeAfterFailures, WhatIsOfNoUseIsNone) {
  const auto text = [this](const char* order, std::int64_t last_s) {
    return to_text(
        {.order = order, .failures = 5, .last_s = last_s, .next_s = clock_.load() + 3600});
  };
  const std::string rows[] = {"garbage", text("http-01 a.test", clock_ + 60),
                              text("tls-alpn-01 a.test", clock_),
                              text("http-01 a.test www.a.test", clock_)};
  unsigned orders = 0;
  for (const std::string& row : rows) {
    ASSERT_TRUE(keep_backoff(files_, row));
    start();
    wait_for_failure(++orders);
    ASSERT_TRUE(kept()) << row;
    EXPECT_EQ(kept()->failures, 1u) << row;
  }
}

// A server that is killed meanwhile has failed; one that is told to stop has not.
TEST_F(AcmeAfterFailures, AnOrderIsNotedBeforeItBegins) {
  holds_orders_ = true;
  start();
  orders_.wait_for(1);
  ASSERT_TRUE(kept());
  EXPECT_EQ(kept()->failures, 1u);
  EXPECT_EQ(kept()->next_s, clock_ + 60);
  acme_->stop();
  EXPECT_FALSE(std::filesystem::exists(backoff_file(files_)));
}

}  // namespace acme_backoff_test
}  // namespace h2server::app
