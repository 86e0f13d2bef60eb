// The contract of Store (h2server/store.h) as checks that every store passes.
//
// Each check is a coroutine that needs keys below a prefix of its own, so that all can be made in
// one bucket.
#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <functional>
#include <memory>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "h2server/server.h"
#include "h2server/store.h"
#include "h2server/task.h"
#include "h2server/test_client.h"

namespace h2server::tests {

struct StoreUnderTest {
  // Returns a store with the objects of the others that it has returned.
  std::function<std::shared_ptr<Store>()> open = {};
  std::string prefix = {};  // of all keys; empty, or ends in "/"
  bool finds_completed = true;
};

struct StoreCheck {
  const char* name;
  // `base` ends in "/".
  Task<void> (*run)(const StoreUnderTest& under_test, std::string base);
};
inline void PrintTo(const StoreCheck& check, std::ostream* out) { *out << check.name; }

const std::vector<StoreCheck>& store_checks();

inline Task<Response> respond(const StoreCheck& check, const StoreUnderTest& under_test,
                              std::string base) {
  co_await check.run(under_test, std::move(base));
  co_return Response::text("done");
}

// Runs the check as a handler of a server, whose file threads and timers a store may need.
inline void run_check(const StoreCheck& check, const StoreUnderTest& under_test) {
  Server server;
  const std::string base = under_test.prefix + check.name + "/";
  server.get("/",
             [&under_test, &check, base](Request&) { return respond(check, under_test, base); });
  TestClient client(server, std::chrono::minutes(2));
  EXPECT_EQ(client.get("/").body, "done");
}

}  // namespace h2server::tests
