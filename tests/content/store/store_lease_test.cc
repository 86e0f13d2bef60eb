#include "content/store/store_lease.h"

#include <gtest/gtest.h>

#include "content/memory_store.h"

namespace h2server::content {
namespace store_lease_test {

using namespace std::chrono_literals;
using tests::run_now;
using Kind = StoreError::Kind;

std::optional<Kind> kind_of(const StoreResult<void>& done) {
  return done ? std::nullopt : std::optional(done.error().kind);
}

class StoreLeaseTest : public testing::Test {
 protected:
  StoreLease make(std::chrono::milliseconds time = 20s) { return {store_, "lock", time}; }
  // As if its time had passed.
  void expire() { store_.objects.at("lock").bytes = "somebody 1\n"; }

  tests::MemoryStore store_;
};

TEST_F(StoreLeaseTest, OneHasIt) {
  StoreLease first = make();
  StoreLease second = make();
  EXPECT_EQ(kind_of(run_now(first.take())), std::nullopt);
  EXPECT_EQ(kind_of(run_now(second.take())), Kind::precondition);
  run_now([](StoreLease& lease) -> Task<bool> {
    co_await lease.give_back();
    co_return true;
  }(first));
  EXPECT_TRUE(store_.objects.empty());
  EXPECT_EQ(kind_of(run_now(second.take())), std::nullopt);
}

TEST_F(StoreLeaseTest, IsTakenOverWhenItsTimeHasPassed) {
  StoreLease first = make(1ms);  // less than its reserve: it is renewed at each keep()
  StoreLease second = make();
  EXPECT_EQ(kind_of(run_now(first.take())), std::nullopt);
  EXPECT_EQ(kind_of(run_now(first.keep())), std::nullopt);
  expire();
  EXPECT_EQ(kind_of(run_now(second.take())), std::nullopt);
  EXPECT_EQ(kind_of(run_now(first.keep())), Kind::precondition);
  EXPECT_EQ(kind_of(run_now(first.keep())), Kind::precondition);
  EXPECT_EQ(kind_of(run_now(second.keep())), std::nullopt);
}

TEST_F(StoreLeaseTest, IsRenewedInTime) {
  StoreLease lease = make();
  EXPECT_EQ(kind_of(run_now(lease.take())), std::nullopt);
  EXPECT_EQ(kind_of(run_now(lease.keep())), std::nullopt);
  EXPECT_EQ(store_.calls.size(), 1U);  // more than half of its time is left
  StoreLease late = make(12s);
  expire();
  EXPECT_EQ(kind_of(run_now(late.take())), std::nullopt);
  store_.calls.clear();
  EXPECT_EQ(kind_of(run_now(late.keep())), std::nullopt);
  ASSERT_EQ(store_.calls.size(), 1U);
  EXPECT_TRUE(store_.calls[0].starts_with("put lock if ")) << store_.calls[0];
  // As long as the reserve is left, the store may fail.
  store_.failure = StoreError{.kind = Kind::late};
  EXPECT_EQ(kind_of(run_now(late.keep())), std::nullopt);
}

TEST_F(StoreLeaseTest, ALostAnswerIsFoundOut) {
  StoreLease lease = make();
  store_.loses = [](std::string_view) { return StoreError{.kind = Kind::late}; };
  EXPECT_EQ(kind_of(run_now(lease.take())), Kind::late);
  store_.loses = {};
  EXPECT_EQ(kind_of(run_now(lease.take())), std::nullopt);  // it is the same owner's
}

TEST_F(StoreLeaseTest, WhatCannotBeReadIsNobodys) {
  for (const std::string text : {"", "x", "x 1", "x \n", "x -5\n", "99999999999999\n"}) {
    store_.objects["lock"] = {.bytes = text, .info = {.etag = "\"t\""}};
    StoreLease lease = make();
    EXPECT_EQ(kind_of(run_now(lease.take())), std::nullopt) << text;
  }
}

TEST_F(StoreLeaseTest, WhenTheStoreFailsNobodyHasIt) {
  StoreLease lease = make();
  store_.failure = StoreError{.kind = Kind::busy};
  EXPECT_EQ(kind_of(run_now(lease.take())), Kind::busy);
  EXPECT_EQ(kind_of(run_now(lease.keep())), Kind::precondition);
}

}  // namespace store_lease_test
}  // namespace h2server::content
