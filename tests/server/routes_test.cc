// Routes, groups, hosts, middleware and the error handler, called in process.
#include "h2server/routes.h"

#include <gtest/gtest.h>

#include <stdexcept>
#include <string>
#include <vector>

#include "h2server/server.h"
#include "h2server/test_client.h"
#include "h2server/timing.h"

namespace h2server {
namespace routes_test {

using namespace std::chrono_literals;

Handler says(std::string text) {
  return [text](Request&) { return Response::text(text); };
}

class RoutesTest : public testing::Test {
 protected:
  std::string get(std::string target, std::string host = "localhost") {
    TestClient client(server_);
    return client.send({.target = std::move(target), .authority = std::move(host)}).body;
  }
  int status(Method method, std::string target) {
    TestClient client(server_);
    return client.send({.method = method, .target = std::move(target)}).status;
  }

  // Middlewares that note when they are called.
  Middleware plain(std::string name) {
    return {[this, name](Request&) {
              log_.push_back("+" + name);
              return std::optional<Response>();
            },
            [this, name](Request&, Response& response) {
              log_.push_back("-" + name);
              response.add("X-Passed", name);
            }};
  }
  Middleware around(std::string name) {
    return [this, name](Request& request, Next next) { return pass(name, request, next); };
  }
  Task<Response> pass(std::string name, Request& request, Next next) {
    log_.push_back("+" + name);
    Response response = co_await next(request);
    log_.push_back("-" + name);
    co_return std::move(response);
  }
  std::string log() {
    std::string joined;
    for (const std::string& entry : std::exchange(log_, {})) joined += entry + " ";
    return joined;
  }

  Server server_;
  std::vector<std::string> log_;
};

TEST_F(RoutesTest, EveryMethodHasAFunction) {
  server_.get("/get", says("get")).post("/post", says("post"));
  server_.put("/put", says("put")).patch("/patch", says("patch")).del("/del", says("del"));
  server_.any("/any", says("any"));
  server_.route({GET, OPTIONS}, "/two", says("two"));
  const std::vector<std::pair<Method, std::string>> rows = {
      {GET, "/get"},    {HEAD, "/get"}, {POST, "/post"},  {PUT, "/put"}, {PATCH, "/patch"},
      {DELETE, "/del"}, {GET, "/any"},  {POST, "/any"},   {PUT, "/any"}, {PATCH, "/any"},
      {DELETE, "/any"}, {GET, "/two"},  {OPTIONS, "/two"}};
  for (const auto& [method, target] : rows) EXPECT_EQ(status(method, target), 200) << target;
  EXPECT_EQ(status(POST, "/get"), 405);
  EXPECT_EQ(status(OPTIONS, "/any"), 204);
}

TEST_F(RoutesTest, GroupsHaveAPrefix) {
  Routes api = server_.group("/api");
  api.get("/notes", says("notes"));
  api.group("/v2").get("/notes/{id}", says("v2"));
  EXPECT_EQ(get("/api/notes"), "notes");
  EXPECT_EQ(get("/api/v2/notes/7"), "v2");
  EXPECT_EQ(status(GET, "/notes"), 404);
  for (const char* const wrong : {"", "api", "/api/", "/"})
    EXPECT_THROW(static_cast<void>(server_.group(wrong)), std::invalid_argument) << wrong;
  EXPECT_THROW(api.get("/notes", says("again")), std::invalid_argument);
}

TEST_F(RoutesTest, HostsHaveRoutesOfTheirOwn) {
  server_.get("/", says("default"));
  server_.get("/only", says("only"));
  server_.host("a.example").get("/", says("a"));
  server_.host("B.example").get("/", says("b"));
  server_.host("[::1]").get("/", says("v6"));
  const std::vector<std::pair<std::string, std::string>> rows = {
      {"localhost", "default"}, {"", "default"},    {"a.example", "a"},
      {"A.EXAMPLE:8080", "a"},  {"b.example", "b"}, {"x.a.example", "default"},
      {"[::1]:80", "v6"},       {"[::1]", "v6"},    {"[::2]", "default"},
      {"a.example.", "a"}};  // RFC 1034, 3.1: the dot ends a full name
  for (const auto& [host, text] : rows) EXPECT_EQ(get("/", host), text) << host;
  TestClient client(server_);
  EXPECT_EQ(client.send({.target = "/only", .authority = "a.example"}).status, 404);
  EXPECT_THROW(static_cast<void>(server_.host("")), std::invalid_argument);
  EXPECT_THROW(static_cast<void>(server_.host("a/b")), std::invalid_argument);
}

TEST_F(RoutesTest, MiddlewareRunsInTheOrderOfWriting) {
  server_.get("/before", says("x"));
  server_.use(plain("server"));
  Routes group = server_.group("/g");
  group.use(around("group"));
  group.with(plain("route")).get("/a", says("x"));
  group.with(plain("route")).with(around("inner")).get("/b", [this](Request&) -> Task<Response> {
    log_.push_back("handler");
    co_return Response(200);
  });
  group.get("/c", says("x"));
  get("/before");
  EXPECT_EQ(log(), "") << "added before the middleware";
  get("/g/a");
  EXPECT_EQ(log(), "+server +group +route -route -group -server ");
  get("/g/b");
  EXPECT_EQ(log(), "+server +group +route +inner handler -inner -route -group -server ");
  get("/g/c");
  EXPECT_EQ(log(), "+server +group -group -server ");
  get("/none");
  EXPECT_EQ(log(), "+server -server ") << "also without a route";
  status(OPTIONS, "/g/c");
  EXPECT_EQ(log(), "+server +group -group -server ") << "also without a handler";
  status(DELETE, "/g/c");
  EXPECT_EQ(log(), "+server +group -group -server ");
  EXPECT_THROW(server_.use(Middleware(Middleware::Before(), Middleware::After())),
               std::invalid_argument);
}

TEST_F(RoutesTest, AMiddlewareMayAnswerItself) {
  for (const bool waits : {false, true}) {
    Server server;
    Routes routes = server.with(plain("outer")).with(waits ? around("around") : plain("plain"));
    routes.use([](Request& request) {
      return request.query() == "no" ? std::optional(Response(401)) : std::nullopt;
    });
    routes.with(plain("inner")).get("/", says("handler"));
    TestClient client(server);
    EXPECT_EQ(client.get("/").body, "handler");
    log();
    const TestResponse refused = client.get("/?no");
    EXPECT_EQ(refused.status, 401);
    const std::string name = waits ? "around" : "plain";
    EXPECT_EQ(log(), "+outer +" + name + " -" + name + " -outer ");
  }
}

// An attempt is asked once, and the coroutine only if it declines.
TEST_F(RoutesTest, AttemptsKeepTheirMeaningBehindMiddleware) {
  const auto handler = [this] {
    return Handler(
        [this](Request& request) -> std::optional<Response> {
          log_.push_back("attempt");
          if (request.query() == "later") return std::nullopt;
          return Response::text("at once");
        },
        [this](Request&) -> Task<Response> {
          log_.push_back("coroutine");
          co_return Response::text("later");
        });
  };
  server_.with(plain("p")).get("/plain", handler());
  server_.with(around("a")).get("/around", handler());
  EXPECT_EQ(get("/plain"), "at once");
  EXPECT_EQ(log(), "+p attempt -p ");
  EXPECT_EQ(get("/plain?later"), "later");
  EXPECT_EQ(log(), "+p attempt coroutine -p ");
  EXPECT_EQ(get("/around"), "at once");
  EXPECT_EQ(log(), "+a attempt -a ");
  EXPECT_EQ(get("/around?later"), "later");
  EXPECT_EQ(log(), "+a attempt coroutine -a ");
}

TEST_F(RoutesTest, WhatIsThrownBecomesAResponseWhereItIsThrown) {
  struct Row {
    std::string name;
    std::function<void()> act;
    int status;
  };
  const std::vector<Row> rows = {
      {"http", [] { throw HttpError(418, "tea"); }, 418},
      {"range", [] { throw HttpError(99); }, 500},
      {"runtime", [] { throw std::runtime_error("bug"); }, 500},
      {"int", [] { throw 7; }, 500},
      {"full", [] { Result<int>(std::unexpected(Error{EAGAIN, "x"})).value(); }, 503},
      {"large", [] { Result<int>(std::unexpected(Error{EMSGSIZE, "x"})).value(); }, 413},
      {"time", [] { Result<int>(std::unexpected(Error{ETIMEDOUT, "x"})).value(); }, 504},
      {"disk", [] { Result<int>(std::unexpected(Error{ENOSPC, "x"})).value(); }, 507},
      {"other", [] { Result<int>(std::unexpected(Error{EIO, "x"})).value(); }, 500},
  };
  const Routes routes = server_.with(plain("p")).with(around("a"));
  for (const Row& row : rows) {
    Routes here = routes;
    here.get("/plain/" + row.name, [act = row.act](Request&) {
      act();
      return Response(200);
    });
    here.get("/later/" + row.name, [act = row.act](Request&) -> Task<Response> {
      act();
      co_return Response(200);
    });
    here.get("/duplex/" + row.name, [act = row.act](Exchange&) -> Task<void> {
      act();
      co_return;
    });
    here.with([act = row.act](Request&, Response&) { act(); }).get("/after/" + row.name, says("x"));
    here.with([act = row.act](Request&, Next) -> Task<Response> {
          act();
          co_return Response(200);
        })
        .get("/around/" + row.name, says("x"));
  }
  testing::internal::CaptureStderr();
  for (const Row& row : rows) {
    for (const std::string kind : {"plain", "later", "duplex", "after", "around"}) {
      log();
      EXPECT_EQ(status(GET, "/" + kind + "/" + row.name), row.status) << kind << row.name;
      EXPECT_EQ(log(), "+p +a -a -p ") << kind << row.name;
    }
  }
  const std::string errors = testing::internal::GetCapturedStderr();
  EXPECT_NE(errors.find("handler of GET /plain/runtime failed: bug\n"), std::string::npos);
  EXPECT_EQ(errors.find("tea"), std::string::npos) << "the client's fault is not logged";
}

TEST_F(RoutesTest, OneErrorHandlerMakesAllErrorPages) {
  std::vector<std::string> failures;
  server_.set_failure_hook([&](const Request& request, const Failure& failure) {
    failures.push_back(std::string(request.path()) + " " + std::to_string(failure.status) + " " +
                       std::to_string(static_cast<int>(failure.culprit)) + " " + failure.what);
  });
  server_.set_error_handler([](const Request& request, const Failure& failure) {
    if (request.path() == "/broken") throw std::runtime_error("in the error handler");
    return Response::text("error " + std::to_string(failure.status), failure.status)
        .add("X-Own", "1");
  });
  server_.get("/throws", [](Request&) -> Response { throw std::runtime_error("bug"); });
  server_.get("/broken", [](Request&) { return Response(500); });
  server_.get("/empty", [](Request&) {
    return Response(403).add("WWW-Authenticate", "x").add("X-Own", "0");
  });
  server_.get("/full", [](Request&) { return Response::text("my own", 404); });
  server_.get("/fine", [](Request&) { return Response(204); });
  TestClient client(server_);
  EXPECT_EQ(client.get("/throws").body, "error 500");
  EXPECT_EQ(client.get("/none").body, "error 404");
  const TestResponse refused = client.send({.method = POST, .target = "/fine"});
  EXPECT_EQ(refused.body, "error 405");
  EXPECT_EQ(refused.field("allow"), "GET, HEAD, OPTIONS");
  const TestResponse empty = client.get("/empty");
  EXPECT_EQ(empty.body, "error 403");
  EXPECT_EQ(empty.field("www-authenticate"), "x") << "fields stay";
  EXPECT_EQ(empty.field("x-own"), "1") << "unless the page has them";
  EXPECT_EQ(client.get("/full").body, "my own");
  EXPECT_EQ(client.get("/fine").status, 204);
  testing::internal::CaptureStderr();
  EXPECT_EQ(client.get("/broken").status, 500);
  EXPECT_NE(testing::internal::GetCapturedStderr().find("in the error handler"), std::string::npos);
  EXPECT_EQ(failures, std::vector<std::string>{"/throws 500 1 bug"});
}

class BrokenSource final : public BodySource {
 public:
  explicit BrokenSource(bool at_once) : at_once_(at_once) {}
  Task<Result<std::string_view>> read() override {
    if (at_once_) throw std::runtime_error("at once");
    return later();
  }

 private:
  static Task<Result<std::string_view>> later() {
    throw std::runtime_error("later");
    co_return std::string_view();
  }
  const bool at_once_;
};

Task<void> throw_after_head(Exchange& exchange) {
  exchange.respond(Response(200));
  const Result<void> written = co_await exchange.write("begun");
  if (written) throw std::runtime_error("duplex");
}

TEST_F(RoutesTest, TheHookHearsOfResponsesThatAreCutOff) {
  std::vector<std::string> failures;
  server_.get("/duplex", throw_after_head);
  server_.get("/source/{when}", [](Request& request) {
    return Response(std::make_unique<BrokenSource>(request.param("when") == "at_once"),
                    "text/plain");
  });
  const auto ask = [&](Version version) {
    failures.clear();
    TestClient client(server_);
    for (const char* const target : {"/duplex", "/source/at_once", "/source/later"}) {
      const TestResponse response = client.send({.target = target, .version = version});
      EXPECT_EQ(response.status, 200);
      EXPECT_FALSE(response.complete) << target;
    }
    return failures;
  };
  testing::internal::CaptureStderr();
  ask(Version::http_2);
  const std::string log = testing::internal::GetCapturedStderr();
  for (const char* const line : {"handler of GET /duplex failed after its head: duplex\n",
                                 "handler of GET /source/at_once failed after its head: at once\n",
                                 "handler of GET /source/later failed after its head: later\n"}) {
    EXPECT_NE(log.find(line), std::string::npos) << log;
  }
  server_.set_failure_hook([&](const Request&, const Failure& failure) {
    const bool alone = failure.reach == Reach::exchange;
    failures.push_back(failure.what + (alone ? " ends the exchange" : " ends the connection"));
  });
  for (const Version version : {Version::http_1_0, Version::http_1_1, Version::http_2}) {
    const std::string ends =
        version == Version::http_2 ? " ends the exchange" : " ends the connection";
    EXPECT_EQ(ask(version), (std::vector{"duplex" + ends, "at once" + ends, "later" + ends}));
  }
}

TEST_F(RoutesTest, MiddlewareLeavesValuesForHandlers) {
  struct User {
    std::string name;
  };
  server_.use([](Request& request) {
    request.attach(User{"first"});
    request.attach(User{"ada"});
    request.attach(7);
    return std::optional<Response>();
  });
  server_.get("/", [](Request& request) {
    EXPECT_EQ(request.attached<std::string>(), nullptr);
    return Response::text(request.attached<User>()->name +
                          std::to_string(*request.attached<int>()));
  });
  EXPECT_EQ(get("/"), "ada7");
}

}  // namespace routes_test
}  // namespace h2server
