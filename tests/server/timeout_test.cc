#include <gtest/gtest.h>

#include <stdexcept>

#include "h2server/standard_middleware.h"
#include "h2server/timing.h"
#include "server/client.h"

namespace h2server {
namespace timeout_test {

using tests::Client;
using tests::Reply;

Task<Response> wait_and_answer(Request&) {
  const Result<void> slept = co_await sleep_for(tests::patience);
  co_return Response(200, slept ? "slept" : "interrupted");
}

Task<Response> wait_and_throw(Request&) {
  const Result<void> slept = co_await sleep_for(tests::patience);
  slept.value();
  co_return Response(200);
}

TEST(Timeout, AnswersWith503) {
  for (const ServerScheme scheme : tests::schemes) {
    Server server(tests::cleartext(scheme));
    std::atomic<int> failures = 0;
    server.set_failure_hook([&failures](const Request&, const Failure& failure) {
      EXPECT_EQ(failure.status, 503);
      ++failures;
    });
    Routes hurried = server.with(timeout(std::chrono::milliseconds(1)));
    hurried.get("/answers", wait_and_answer);
    hurried.get("/throws", wait_and_throw);
    server.with(timeout(tests::patience)).get("/in-time", [](Request&) {
      return Response(200, "x");
    });
    ASSERT_TRUE(server.start());
    Client client(tests::port_of(server));
    for (int round = 0; round < 2; ++round) {  // the connection goes on
      for (const std::string target : {"/answers", "/throws"}) {
        const Reply reply = client.get(target);
        EXPECT_EQ(reply.status, 503) << target;
        EXPECT_EQ(reply.body.find("interrupted"), std::string::npos);
      }
      EXPECT_EQ(client.get("/in-time").body, "x");
    }
    EXPECT_EQ(failures, 4) << tests::scheme_name(scheme);
  }
}

TEST(Timeout, RefusesTimes) {
  EXPECT_THROW(static_cast<void>(timeout(std::chrono::milliseconds(0))), std::invalid_argument);
  EXPECT_THROW(static_cast<void>(timeout(std::chrono::milliseconds(-1))), std::invalid_argument);
}

}  // namespace timeout_test
}  // namespace h2server
