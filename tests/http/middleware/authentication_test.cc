#include "h2server/authentication.h"

#include <stdexcept>

#include "base/text/base64.h"
#include "http/middleware_support.h"

namespace h2server {
namespace authentication_test {

using tests::FieldRows;
using tests::Passage;

std::string basic(std::string_view text) { return "Basic " + base::encode_base64(text); }

const std::string secret = "p\xc3\xa4ss:word \"1\"";

std::vector<std::pair<std::string, Middleware>> basic_kinds() {
  const auto check = [](std::string_view user, std::string_view password) {
    return user == "alice" && password == secret;
  };
  const auto look_up = [](std::string user, std::string password) -> Task<bool> {
    co_return user == "alice" && password == secret;
  };
  return {{"fixed", basic_authentication("a \"realm\\\"", "alice", secret)},
          {"plain", basic_authentication("a \"realm\\\"", check)},
          {"coroutine", basic_authentication("a \"realm\\\"", look_up)}};
}

Response name_of_user(Request& request) {
  const AuthenticatedUser* const user = request.attached<AuthenticatedUser>();
  return Response(200, user != nullptr ? user->name : "nobody");
}

TEST(BasicAuthentication, Table) {
  struct Row {
    FieldRows fields;
    bool passes;
  };
  const std::string good = basic("alice:" + secret);
  const std::vector<Row> rows = {
      {{{"authorization", good}}, true},
      {{{"Authorization", "bASIC " + good.substr(6)}}, true},
      {{}, false},
      {{{"authorization", ""}}, false},
      {{{"authorization", "Basic"}}, false},
      {{{"authorization", "Basic ="}}, false},
      {{{"authorization", "Basic !"}}, false},
      {{{"authorization", "Bearer " + good.substr(6)}}, false},
      {{{"authorization", good}, {"authorization", good}}, false},
      {{{"proxy-authorization", good}}, false},
      {{{"authorization", basic("alice")}}, false},
      {{{"authorization", basic("alice:")}}, false},
      {{{"authorization", basic(":" + secret)}}, false},
      {{{"authorization", basic("alice:" + secret + "1")}}, false},
      {{{"authorization", basic("alice:" + secret.substr(1))}}, false},
      {{{"authorization", basic("bob:" + secret)}}, false},
      {{{"authorization", basic("Alice:" + secret)}}, false},
      {{{"authorization", basic("alice\n:" + secret)}}, false},
      {{{"authorization", basic("alice:" + secret + std::string(1, '\0'))}}, false},
      {{{"authorization", basic("alice:" + std::string(1'000'000, 'x'))}}, false},
      {{{"authorization", "Basic " + std::string(1'000'000, 'A')}}, false},
  };
  for (auto& [kind, middleware] : basic_kinds()) {
    Passage passage(std::move(middleware));
    passage.handler = name_of_user;
    for (const Row& row : rows) {
      const Response response = passage.get(row.fields);
      const std::string what =
          kind + " " + (row.fields.empty() ? "" : row.fields.front().second.substr(0, 60));
      EXPECT_EQ(response.status(), row.passes ? 200 : 401) << what;
      EXPECT_EQ(tests::body_of(response), row.passes ? "alice" : "") << what;
      EXPECT_EQ(response.find("WWW-Authenticate").has_value(), !row.passes) << what;
    }
    EXPECT_EQ(passage.get().find("WWW-Authenticate"),
              "Basic realm=\"a \\\"realm\\\\\\\"\", charset=\"UTF-8\"");
  }
}

TEST(BearerAuthentication, Table) {
  struct Row {
    FieldRows fields;
    bool passes;
    std::string error = "";
  };
  const std::string invalid = ", error=\"invalid_token\"";
  const std::vector<Row> rows = {
      {{{"authorization", "Bearer tok-1.a=="}}, true},
      {{{"authorization", "bearer tok-1.a=="}}, true},
      {{}, false},
      {{{"authorization", "Bearer"}}, false},
      {{{"authorization", "Bearer tok-1.a== x"}}, false},
      {{{"authorization", "Bearer a=\"tok-1.a==\""}}, false},
      {{{"authorization", "Basic tok-1.a=="}}, false},
      {{{"authorization", "Bearer tok-1.a=="}, {"authorization", "Bearer tok-1.a=="}}, false},
      {{{"authorization", "Bearer tok-1.a="}}, false, invalid},
      {{{"authorization", "Bearer TOK-1.a=="}}, false, invalid},
      {{{"authorization", "Bearer " + std::string(1'000'000, 'a')}}, false, invalid},
  };
  const auto check = [](std::string_view token) -> std::optional<AuthenticatedUser> {
    if (token != "tok-1.a==") return std::nullopt;
    return AuthenticatedUser{"alice"};
  };
  const auto look_up = [](std::string token) -> Task<std::optional<AuthenticatedUser>> {
    std::optional<AuthenticatedUser> user;
    if (token == "tok-1.a==") user.emplace("alice");
    co_return std::move(user);
  };
  const std::vector<Middleware> kinds = {bearer_authentication("r", "alice", "tok-1.a=="),
                                         bearer_authentication("r", check),
                                         bearer_authentication("r", look_up)};
  for (const Middleware& kind : kinds) {
    Passage passage(kind);
    passage.handler = name_of_user;
    for (const Row& row : rows) {
      const Response response = passage.get(row.fields);
      const std::string what = row.fields.empty() ? "" : row.fields.front().second.substr(0, 60);
      EXPECT_EQ(response.status(), row.passes ? 200 : 401) << what;
      EXPECT_EQ(tests::body_of(response), row.passes ? "alice" : "") << what;
      if (!row.passes) {
        EXPECT_EQ(response.find("WWW-Authenticate"), "Bearer realm=\"r\"" + row.error) << what;
      }
    }
  }
}

TEST(Authentication, ACheckThatThrowsPassesNobody) {
  const auto check = [](std::string_view, std::string_view) -> bool {
    throw std::runtime_error("no database");
  };
  const auto look_up = [](std::string, std::string) -> Task<bool> {
    throw std::runtime_error("no database");
    co_return true;
  };
  const FieldRows fields = {{"authorization", basic("alice:x")}};
  for (const Middleware& kind :
       {basic_authentication("r", check), basic_authentication("r", look_up)}) {
    Passage passage(kind);
    passage.composition.failure_hook = [](const Request&, const Failure&) {};
    const Response response = passage.get(fields);
    EXPECT_EQ(response.status(), 500);
    EXPECT_NE(tests::body_of(response), "inside");
  }
}

TEST(Authentication, RefusesWhatCannotBeSent) {
  const auto throws = [](auto&& make) { EXPECT_THROW(make(), std::invalid_argument); };
  for (const std::string& realm : {std::string("a\r\nX-Evil: b"), std::string(1, '\0')}) {
    throws([&] { static_cast<void>(basic_authentication(realm, "alice", "x")); });
    throws([&] { static_cast<void>(bearer_authentication(realm, "alice", "x")); });
  }
  throws([] { static_cast<void>(basic_authentication("r", PasswordCheck())); });
  throws([] { static_cast<void>(basic_authentication("r", PasswordLookup())); });
  throws([] { static_cast<void>(bearer_authentication("r", TokenCheck())); });
  throws([] { static_cast<void>(bearer_authentication("r", TokenLookup())); });
  throws([] { static_cast<void>(basic_authentication("r", "al:ice", "x")); });
  throws([] { static_cast<void>(basic_authentication("r", "alice", "x\n")); });
  for (const std::string token : {"", " a", "a b", "a,b", "=", "caf\xc3\xa9"}) {
    throws([&] { static_cast<void>(bearer_authentication("r", "alice", token)); });
  }
}

}  // namespace authentication_test
}  // namespace h2server
