#include "content/store/leased_sweep.h"

#include <gtest/gtest.h>

#include <functional>
#include <stdexcept>
#include <utility>

#include "content/memory_store.h"

namespace h2server::content {
namespace leased_sweep_test {

using Kind = StoreError::Kind;
using Done = StoreResult<void>;

constexpr std::int64_t minute_ms = 60'000;

class Sweep final : public LeasedSweep {
 public:
  explicit Sweep(Store& store, std::function<Task<Done>()> work = {})
      : LeasedSweep(store, "lease", minute_ms, "what can go"), work_(std::move(work)) {}

  unsigned sweeps = 0;

 private:
  Task<Done> sweep() override {
    ++sweeps;
    if (!work_) co_return Done();
    Done done = co_await work_();
    co_return done;
  }

  const std::function<Task<Done>()> work_;
};

void run(LeasedSweep& sweep) {
  tests::run_now([](LeasedSweep& one) -> Task<bool> {
    co_await one.run();
    co_return true;
  }(sweep));
}

class LeasedSweepTest : public testing::Test {
 protected:
  // As if the time of the last lease had passed.
  void expire() { store_.objects.at("lease").bytes = "somebody 1\n"; }
  std::string log_of(LeasedSweep& sweep) {
    testing::internal::CaptureStderr();
    run(sweep);
    return testing::internal::GetCapturedStderr();
  }

  tests::MemoryStore store_;
};

TEST_F(LeasedSweepTest, OneReplicaSweeps) {
  Sweep first(store_);
  Sweep second(store_);
  run(first);
  run(second);
  EXPECT_EQ(first.sweeps, 1U);
  EXPECT_EQ(second.sweeps, 0U) << "the lease is held until its time has passed";
  expire();
  run(second);
  EXPECT_EQ(second.sweeps, 1U);
}

TEST_F(LeasedSweepTest, OneAtATime) {
  Sweep* again = nullptr;
  Sweep sweep(store_, [&]() -> Task<Done> {
    expire();
    co_await again->run();
    co_return Done();
  });
  again = &sweep;
  run(sweep);
  EXPECT_EQ(sweep.sweeps, 1U);
  expire();
  run(sweep);
  EXPECT_EQ(sweep.sweeps, 2U) << "the first has ended";
}

TEST_F(LeasedSweepTest, WhatFailsIsLoggedAndTriedAgain) {
  bool throws = false;
  Kind kind = Kind::failed;
  Sweep sweep(store_, [&]() -> Task<Done> {
    if (throws) throw std::runtime_error("no memory");
    co_return std::unexpected(StoreError{.kind = kind, .reason = "it broke"});
  });
  EXPECT_TRUE(log_of(sweep).contains("can't look for what can go in the store: it broke"));
  expire();
  throws = true;
  EXPECT_TRUE(log_of(sweep).contains("can't look for what can go in the store: no memory"));
  expire();
  throws = false;
  kind = Kind::stopped;
  EXPECT_EQ(log_of(sweep), "") << "the server stops";
  store_.fails = [](std::string_view) { return StoreError{.kind = Kind::busy, .reason = "busy"}; };
  EXPECT_TRUE(log_of(sweep).contains("busy")) << "the lease can't be taken";
  EXPECT_EQ(sweep.sweeps, 3U);
}

}  // namespace leased_sweep_test
}  // namespace h2server::content
