#include <gtest/gtest.h>

#include <stdexcept>
#include <string>
#include <vector>

#include "h2server/json.h"
#include "h2server/problem.h"
#include "h2server/response.h"

namespace h2server {
namespace response_kinds_test {

using namespace std::string_literals;

std::string text_of(const Response& response) {
  std::string text = std::to_string(response.status());
  for (const Response::Line& line : response.fields()) {
    text += " [" + line.name + ": " + line.value + "]";
  }
  const auto* const body = std::get_if<std::string>(&response.body());
  return body != nullptr ? text + " " + *body : text;
}

TEST(ResponseKinds, Texts) {
  EXPECT_EQ(text_of(Response::text("a")), "200 [Content-Type: text/plain; charset=utf-8] a");
  EXPECT_EQ(text_of(Response::text("", 404)), "404 [Content-Type: text/plain; charset=utf-8] ");
  EXPECT_EQ(text_of(Response::html("<p>", 503)),
            "503 [Content-Type: text/html; charset=utf-8] <p>");
  EXPECT_EQ(text_of(Response::html("<p>")), "200 [Content-Type: text/html; charset=utf-8] <p>");
  EXPECT_EQ(text_of(Response::json("{}")), "200 [Content-Type: application/json] {}");
  EXPECT_EQ(text_of(Response::json("{}", 201)), "201 [Content-Type: application/json] {}");
  EXPECT_EQ(text_of(Response::no_content()), "204");
  EXPECT_THROW(static_cast<void>(Response::text("a", 600)), std::invalid_argument);
  EXPECT_THROW(static_cast<void>(Response::json("a", 100)), std::invalid_argument);
}

TEST(ResponseKinds, Redirects) {
  for (const int status : {301, 302, 303, 307, 308}) {
    EXPECT_EQ(text_of(Response::redirect("/a", status)),
              std::to_string(status) + " [Location: /a]");
  }
  for (const int status : {0, 200, 300, 304, 305, 306, 309, 400}) {
    EXPECT_THROW(static_cast<void>(Response::redirect("/a", status)), std::invalid_argument)
        << status;
  }
  for (const char* const location :
       {"/", "a", "?q=%20+", "#x", "//host/a", "https://user@[::1]:8080/a;b,c?d=e#f", "%C3%A9",
        "/-._~!$&'()*+,;=:@/?"}) {
    EXPECT_EQ(text_of(Response::redirect(location)), "303 [Location: "s + location + "]");
  }
  // What clients send may have come to it.
  EXPECT_EQ(text_of(Response::redirect("/a\r\nX: y{\"}%")),
            "303 [Location: /a%0D%0AX:%20y%7B%22%7D%25]");
  EXPECT_THROW(static_cast<void>(Response::redirect("")), std::invalid_argument);
}

TEST(Json, Strings) {
  const std::vector<std::pair<std::string, std::string>> rows = {
      {"", R"("")"},
      {"a/b'<>&", R"("a/b'<>&")"},
      {R"(a"b\c)", R"("a\"b\\c")"},
      {"\0\x01\x1f\x7f"s, "\"\\u0000\\u0001\\u001f\x7f\""},
      {"\n\r\t", R"("\u000a\u000d\u0009")"},
      {"caf\xc3\xa9 \xf0\x9f\x98\x80", "\"caf\xc3\xa9 \xf0\x9f\x98\x80\""},
      {"\xff", "\"\xef\xbf\xbd\""},
      {"a\xe2\x82", "\"a\xef\xbf\xbd\""},
      {"\xe2\x82\"", "\"\xef\xbf\xbd\\\"\""},  // a cut character does not hide the quote
      {"\xc0\xa2", "\"\xef\xbf\xbd\xef\xbf\xbd\""},
  };
  for (const auto& [text, expected] : rows) {
    EXPECT_EQ(json_string(text), expected) << testing::PrintToString(text);
  }
}

// RFC 9457, 3.
TEST(ResponseKinds, Problems) {
  const std::vector<std::pair<Problem, std::string>> rows = {
      {{}, R"(500 {"title":"Internal Server Error","status":500})"},
      {{.status = 404}, R"(404 {"title":"Not Found","status":404})"},
      {{.status = 404, .title = "No such user"}, R"(404 {"title":"No such user","status":404})"},
      {{.status = 400, .type = "/problems/a"}, R"(400 {"type":"/problems/a","status":400})"},
      {{.status = 403,
        .type = "https://example.com/probs/out-of-credit",
        .title = "You do not have enough credit.",
        .detail = "Your current balance is 30, but that costs 50.",
        .instance = "/account/12345/msgs/abc",
        .extensions = {{"balance", "30"}, {"accounts", R"(["/account/1"])"}}},
       R"(403 {"type":"https://example.com/probs/out-of-credit",)"
       R"("title":"You do not have enough credit.","status":403,)"
       R"("detail":"Your current balance is 30, but that costs 50.",)"
       R"("instance":"/account/12345/msgs/abc","balance":30,"accounts":["/account/1"]})"},
      {{.status = 422, .detail = "\"a\"\n\xff"},
       "422 {\"title\":\"Unprocessable Content\",\"status\":422,"
       "\"detail\":\"\\\"a\\\"\\u000a\xef\xbf\xbd\"}"},
  };
  for (const auto& [problem, expected] : rows) {
    const Response response = Response::problem(problem);
    const std::string head = expected.substr(0, 3) + " [Content-Type: application/problem+json] ";
    EXPECT_EQ(text_of(response), head + expected.substr(4) + "\n");
  }
}

TEST(ResponseKinds, RefusedProblems) {
  const std::vector<Problem> rows = {
      {.status = 100},
      {.status = 600},
      {.type = "a b"},
      {.type = "caf\xc3\xa9"},
      {.instance = "\""},
      {.extensions = {{"ab", "1"}}},
      {.extensions = {{"1ab", "1"}}},
      {.extensions = {{"_ab", "1"}}},
      {.extensions = {{"a-b", "1"}}},
      {.extensions = {{"a\"b", "1"}}},
      {.extensions = {{"abc", ""}}},
      {.extensions = {{"abc", "1"}, {"abd", "1"}, {"abc", "1"}}},
      {.extensions = {{"type", "1"}}},
      {.extensions = {{"title", "1"}}},
      {.extensions = {{"status", "1"}}},
      {.extensions = {{"detail", "1"}}},
      {.extensions = {{"instance", "1"}}},
  };
  for (std::size_t i = 0; i < rows.size(); ++i) {
    EXPECT_THROW(static_cast<void>(Response::problem(rows[i])), std::invalid_argument) << i;
  }
}

}  // namespace response_kinds_test
}  // namespace h2server
