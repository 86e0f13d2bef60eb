#include "content/uploads/stored/part_budget.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "h2server/server.h"
#include "server/client.h"

namespace h2server::content {
namespace part_budget_test {

TEST(PartBudget, OneClientGetsTheHalf) {
  PartBudget budget(100);
  EXPECT_TRUE(budget.try_take(40, "a"));
  EXPECT_FALSE(budget.try_take(20, "a")) << "60 of 100";
  EXPECT_TRUE(budget.try_take(10, "a"));
  EXPECT_TRUE(budget.try_take(20, "b"));
  EXPECT_TRUE(budget.try_take(30, "")) << "who has no name shares all";
  EXPECT_FALSE(budget.try_take(1, "c")) << "nothing is left";
  budget.give_back(10, "a");
  EXPECT_TRUE(budget.try_take(10, "c"));
  budget.give_back(40, "a");
  EXPECT_TRUE(budget.try_take(40, "a")) << "as at first";
  for (const auto& [bytes, client] :
       std::vector<std::pair<unsigned, std::string>>{{40, "a"}, {20, "b"}, {30, ""}, {10, "c"}}) {
    budget.give_back(bytes, client);
  }
  EXPECT_EQ(budget.taken(), 0U);
  EXPECT_TRUE(budget.try_take(1000, "a")) << "more than there are, while nobody has any";
  EXPECT_FALSE(budget.try_take(1, "a"));
  EXPECT_FALSE(budget.try_take(1, "b"));
  budget.give_back(1000, "a");
}

// Who waits for what his own client has does not hold up others.
TEST(PartBudget, WaitersOfOneClientDoNotHoldUpOthers) {
  PartBudget budget(100);
  std::atomic<int> waiting{0};
  ServerOptions options{.threads = 1};
  options.listeners = {{.host = "127.0.0.1", .port = 0, .cleartext = true}};
  Server server(options);
  server.get("/{client}", [&](Request& request) -> Task<Response> {
    ++waiting;
    const bool taken =
        co_await budget.take(40, std::string(request.param("client")), tests::patience);
    --waiting;
    co_return Response(taken ? 200 : 503);
  });
  ASSERT_TRUE(server.start());
  const std::uint16_t port = server.addresses().front().port;
  EXPECT_EQ(tests::Client(port).get("/a").status, 200);
  tests::Client waits(port);
  waits.send("GET /a HTTP/1.1\r\nHost: x\r\n\r\n");
  while (waiting == 0) std::this_thread::yield();
  EXPECT_EQ(tests::Client(port).get("/b").status, 200);
  tests::Client last(port);  // 80 of 100 are taken: it waits for anybody
  last.send("GET /c HTTP/1.1\r\nHost: x\r\n\r\n");
  while (waiting < 2) std::this_thread::yield();
  budget.give_back(40, "b");
  EXPECT_EQ(last.receive().status, 200);
  budget.give_back(40, "a");
  EXPECT_EQ(waits.receive().status, 200);
  budget.give_back(40, "a");
  budget.give_back(40, "c");
  EXPECT_EQ(budget.taken(), 0U);
}

}  // namespace part_budget_test
}  // namespace h2server::content
