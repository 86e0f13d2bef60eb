// Tests the order in which middleware is called, and who answers.
#include "h2server/middleware.h"

#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

#include "http/middleware_support.h"

namespace h2server {
namespace middleware_test {

using tests::Passage;

struct MiddlewareOrder : testing::Test {
  Middleware around(std::string_view name) {
    return [this, name](Request& request, Next next) { return pass(name, request, next); };
  }
  Task<Response> pass(std::string_view name, Request& request, Next next) {
    calls.append(name).append("(");
    Response response = co_await next(request);
    calls.append(")");
    co_return std::move(response);
  }
  // Answers, or lets the request pass.
  Middleware check(std::string_view name, bool answers) {
    return [this, name, answers](Request&) -> std::optional<Response> {
      calls.append(name);
      if (answers) return Response(403, "refused");
      return std::nullopt;
    };
  }
  // Returns the content of the response.
  std::string ask(MiddlewareChain chain) {
    calls.clear();
    Passage passage(std::move(chain));
    passage.handler = [this](Request&) {
      calls.append("h");
      return Response(200, "inside");
    };
    const Response response = passage.get();
    return std::get<std::string>(response.body());
  }

  std::string calls;
};

TEST_F(MiddlewareOrder, IsThatOfTheChain) {
  EXPECT_EQ(ask({around("a"), around("b")}), "inside");
  EXPECT_EQ(calls, "a(b(h))");
  EXPECT_EQ(ask({around("a"), check("c", false), around("b"), check("d", false)}), "inside");
  EXPECT_EQ(calls, "a(cb(dh))");
}

TEST_F(MiddlewareOrder, EndsAtTheOneThatAnswers) {
  EXPECT_EQ(ask({around("a"), check("c", true), around("b")}), "refused");
  EXPECT_EQ(calls, "a(c)");
  EXPECT_EQ(ask({check("c", true), around("a")}), "refused");
  EXPECT_EQ(calls, "c");
}

}  // namespace middleware_test
}  // namespace h2server
