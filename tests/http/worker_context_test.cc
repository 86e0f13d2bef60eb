#include "http/worker_context.h"

#include <gtest/gtest.h>

#include <stdexcept>
#include <string>
#include <vector>

#include "coro/event.h"
#include "h2server/task_group.h"
#include "http/answer.h"
#include "http/observer.h"

namespace h2server::http {
namespace worker_context_test {

class ServiceTest : public testing::Test {
 protected:
  ServiceTest() {
    const auto handler = [](Request&) { return Response(200); };
    EXPECT_TRUE(router_.add(GET, "/x/{a}", handler).has_value());
    EXPECT_TRUE(router_.add(POST, "/x/{a}", handler).has_value());
    EXPECT_TRUE(router_.add(GET, "/{rest...}", handler).has_value());
  }

  const Handler* find(Method method, std::string_view target) {
    exchange_.clear();
    exchange_.head.method = method;
    exchange_.head.target = target;
    exchange_.head.authority = "from the fields";
    return find_handler(context_, {}, exchange_) ? exchange_.handler : nullptr;
  }
  std::string allow() const {
    for (const Response::Line& line : exchange_.response.fields()) {
      if (line.name == "Allow") return line.value;
    }
    return "";
  }

  Router router_;
  Limits limits_;
  WorkerContext context_{router_, limits_};
  ExchangeState exchange_;
};

TEST_F(ServiceTest, FindsTheHandlerAndUnderstandsTheTarget) {
  ASSERT_NE(find(GET, "/x/%41b?c=d"), nullptr);
  EXPECT_EQ(exchange_.head.path, "/x/Ab");
  EXPECT_EQ(exchange_.head.query, "c=d");
  EXPECT_EQ(exchange_.params.find("a"), "Ab");
  EXPECT_EQ(exchange_.head.authority, "from the fields");
  ASSERT_NE(find(POST, "http://other:81/x/y"), nullptr);
  EXPECT_EQ(exchange_.head.authority, "other:81");
  EXPECT_EQ(exchange_.head.path, "/x/y");
  EXPECT_NE(find(HEAD, "/"), nullptr);
}

struct Row {
  Method method;
  std::string target;
  int status;
  std::string allow = "";
};

TEST_F(ServiceTest, AnswersWhatNoHandlerDoes) {
  Router few;
  ASSERT_TRUE(few.add(GET, "/x", [](Request&) { return Response(200); }).has_value());
  ASSERT_TRUE(few.add(POST, "/x", [](Request&) { return Response(200); }).has_value());
  const WorkerContext context{few, limits_};
  const std::vector<Row> rows = {
      {GET, "/y", 404},
      {GET, "/x/", 404},
      {PUT, "/x", 405, "GET, HEAD, POST, OPTIONS"},
      {PROPFIND, "/x", 405, "GET, HEAD, POST, OPTIONS"},
      {UNLOCK, "/y", 404},
      {QUERY, "/x", 405, "GET, HEAD, POST, OPTIONS"},
      {MKCOL, "*", 400},
      {OPTIONS, "/x", 204, "GET, HEAD, POST, OPTIONS"},
      {OPTIONS, "http://a/x?y", 204, "GET, HEAD, POST, OPTIONS"},
      {OPTIONS, "/y", 404},
      {OPTIONS, "/../x", 400},
      {GET, "/../x", 400},
      {GET, "", 400},
      {GET, "x", 400},
      {GET, "*", 400},
      {OPTIONS, "*", 204},
      {Method::unknown, "/x", 501},
      {Method::unknown, "*", 501},
      {Method::unknown, "host:443", 501},  // CONNECT
      {Method::unknown, "", 501},          // CONNECT in HTTP/2
  };
  for (const Row& row : rows) {
    exchange_.clear();
    exchange_.head.method = row.method;
    exchange_.head.target = row.target;
    EXPECT_FALSE(find_handler(context, {}, exchange_)) << row.target;
    EXPECT_EQ(exchange_.response.status(), row.status) << row.target;
    EXPECT_EQ(allow(), row.allow) << row.target;
  }
}

TEST_F(ServiceTest, AHandlerMayAnswerOptionsItself) {
  ASSERT_TRUE(router_.add(OPTIONS, "/x/{a}", [](Request&) { return Response(200); }).has_value());
  EXPECT_NE(find(OPTIONS, "/x/y"), nullptr);
  EXPECT_EQ(exchange_.params.find("a"), "y");
  EXPECT_EQ(find(PUT, "/x/y"), nullptr);
  EXPECT_EQ(allow(), "GET, HEAD, POST, OPTIONS");
}

TEST_F(ServiceTest, AnAttemptAnswersWhenItCan) {
  const Handler::Coroutine otherwise = [](Request&) -> Task<Response> { co_return Response(202); };
  const Handler handler(
      [](Request& request) -> std::optional<Response> {
        if (request.query() == "throw") throw std::runtime_error("attempt");
        if (request.query() == "later") return std::nullopt;
        return Response(201);
      },
      otherwise);
  const PathParams params;
  RequestHead head;
  head.query = "now";
  Request request(head, params, nullptr);
  EXPECT_EQ(answer_at_once(handler, request)->status(), 201);
  head.query = "later";
  EXPECT_FALSE(answer_at_once(handler, request).has_value());
  EXPECT_NE(handler.coroutine(), nullptr);
  EXPECT_FALSE(answer_at_once(Handler(otherwise), request).has_value());
  head.query = "throw";
  EXPECT_THROW(answer_at_once(handler, request), std::runtime_error);
}

// A coroutine that never waits costs no other frame than its own.
TEST_F(ServiceTest, ACoroutineThatNeverWaitsAnswersAtOnce) {
  const auto ask = [](std::string_view query, Begin begin) {
    coro::Event event;
    const Handler handler = [&event](Request& request) -> Task<Response> {
      if (request.query() == "later") co_await event.wait();
      if (request.query() == "throw") throw HttpError(418, "as the test wants");
      co_return Response(202);
    };
    ExchangeState exchange;
    exchange.handler = &handler;
    exchange.head.query = query;
    exchange.request.emplace(exchange.head, exchange.params, nullptr, &exchange.stop);
    std::optional<Response> response = answer_at_once(exchange, begin);
    const bool at_once = response.has_value();
    TaskGroup tasks;
    const auto rest = [&]() -> Task<void> { response = co_await answer(exchange); };
    if (!at_once) tasks.start(rest());
    event.set();
    return std::pair(at_once, response->status());
  };
  EXPECT_EQ(ask("now", Begin::coroutines), std::pair(true, 202));
  EXPECT_EQ(ask("throw", Begin::coroutines), std::pair(true, 418));
  EXPECT_EQ(ask("later", Begin::coroutines), std::pair(false, 202));
  EXPECT_EQ(ask("now", Begin::plain_functions), std::pair(false, 202));
}

// RFC 9110, 15.5.20: a connection to one host is not one to another.
TEST_F(ServiceTest, AConnectionIsToTheHostThatItNamed) {
  Composition composition;
  const std::vector<std::string> a{"a.test", "www.a.test"};
  const std::vector<std::string> b{"b.test"};
  for (const auto& names : {a, b}) {
    HostRoutes* const host = composition.hosts.add(names);
    ASSERT_TRUE(host->router.add(GET, "/", [](Request&) { return Response(200); }));
  }
  const WorkerContext context{.router = router_, .limits = limits_, .composition = &composition};
  struct NamedRow {
    std::string name;  // in TLS; empty: none
    std::string authority;
    bool misdirected;
  };
  const NamedRow rows[] = {
      {"a.test", "a.test", false},    {"a.test", "WWW.a.test:443", false},
      {"a.test", "b.test", true},     {"a.test", "other.test", true},
      {"other.test", "a.test", true}, {"other.test", "third.test", false},
      {"", "a.test", false},          {"", "b.test", false},
  };
  for (const NamedRow& row : rows) {
    exchange_.clear();
    exchange_.head.target = "/";
    exchange_.head.authority = row.authority;
    const ConnectionTraits traits{.encrypted = true,
                                  .names_host = !row.name.empty(),
                                  .named = composition.hosts.find(row.name)};
    EXPECT_TRUE(find_handler(context, traits, exchange_));
    const bool refused = exchange_.handler == nullptr && exchange_.response.status() == 421;
    EXPECT_EQ(refused, row.misdirected) << row.name << " " << row.authority;
  }
}

TEST_F(ServiceTest, ARequestWithoutABodyReadsNothing) {
  const RequestHead head;
  const PathParams params;
  Request request(head, params, nullptr);
  TaskGroup tasks;
  bool read = false;
  const auto reads = [&]() -> Task<void> {
    const Result<std::string> body = co_await request.read_all(0);
    read = body.has_value() && body->empty();
  };
  tasks.start(reads());
  EXPECT_TRUE(read);
}

}  // namespace worker_context_test
}  // namespace h2server::http
