#include "server/passwords/check_slots.h"

#include <gtest/gtest.h>

#include <cerrno>
#include <chrono>
#include <string>
#include <vector>

#include "h2server/completion.h"
#include "h2server/test_client.h"
#include "h2server/timing.h"

namespace h2server::server {
namespace check_slots_test {

// A handler that holds a slot until it is asked to release it.
class HeldSlots : public testing::Test {
 protected:
  HeldSlots() {
    server_.get("/hold", [this](Request&) -> Task<Response> {
      Completion<void> released;
      const Result<CheckSlots::Slot> slot = co_await slots_.take();
      if (!slot) co_return Response(slot.error().code == EAGAIN ? 503 : 500);
      holders_.push_back(released.completer());
      co_await released;
      co_return Response(200);
    });
    server_.get("/release", [this](Request&) -> Task<Response> {
      const Completer<void> first = holders_.front();
      holders_.erase(holders_.begin());
      first();
      co_return Response::text(std::to_string(holders_.size()));
    });
    server_.get("/turn", [](Request&) -> Task<Response> {
      const Result<void> slept = co_await sleep_for(std::chrono::milliseconds(1));
      co_return Response(slept ? 200 : 500);
    });
  }

  // Gives the worker turns until a handler holds a slot.
  void await_holder(TestClient& client) {
    for (int turn = 0; turn < 10'000 && holders_.empty(); ++turn) {
      ASSERT_EQ(client.get("/turn").status, 200);
    }
    ASSERT_FALSE(holders_.empty());
  }

  Server server_;
  CheckSlots slots_{1, 2};
  std::vector<Completer<void>> holders_;
};

TEST_F(HeldSlots, OthersWaitOrAreRefused) {
  TestClient client(server_);
  TestExchange first = client.open({.target = "/hold"});
  TestExchange second = client.open({.target = "/hold"});
  TestExchange third = client.open({.target = "/hold"});
  first.finish();
  second.finish();
  third.finish();
  EXPECT_EQ(client.get("/hold").status, 503);
  EXPECT_EQ(holders_.size(), 1);
  EXPECT_EQ(client.get("/release").body, "0");
  EXPECT_EQ(first.rest().status, 200);
  await_holder(client);
  EXPECT_EQ(client.get("/release").body, "0");
  EXPECT_EQ(second.rest().status, 200);
  await_holder(client);
  EXPECT_EQ(client.get("/release").body, "0");
  EXPECT_EQ(third.rest().status, 200);
}

TEST_F(HeldSlots, OneThatLeavesLosesNoSlot) {
  TestClient client(server_);
  TestExchange first = client.open({.target = "/hold"});
  first.finish();
  {
    TestExchange leaving = client.open({.target = "/hold"});
    TestExchange too = client.open({.target = "/hold"});
  }
  TestExchange waiting = client.open({.target = "/hold"});
  waiting.finish();
  EXPECT_EQ(client.get("/release").body, "0");
  EXPECT_EQ(first.rest().status, 200);
  await_holder(client);
  EXPECT_EQ(client.get("/release").body, "0");
  EXPECT_EQ(waiting.rest().status, 200);
}

}  // namespace check_slots_test
}  // namespace h2server::server
