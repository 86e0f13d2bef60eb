#include "h2server/cookies.h"

#include <gtest/gtest.h>

#include <stdexcept>
#include <string>
#include <vector>

#include "h2server/request.h"
#include "h2server/response.h"

namespace h2server {
namespace cookies_test {

using namespace std::string_literals;

std::string text_of(const Cookies& cookies) {
  std::string text;
  for (const Field& item : cookies) {
    text.append("[").append(item.name).append("=").append(item.value).append("]");
  }
  return text;
}

TEST(Cookies, OfARequest) {
  struct Row {
    std::vector<std::string> lines;
    std::string expected;
  };
  const std::vector<Row> rows = {
      {{}, ""},
      {{""}, ""},
      {{"a=b"}, "[a=b]"},
      {{"a=b; c=d"}, "[a=b][c=d]"},
      {{"a=b;c=d ;\te=f"}, "[a=b][c=d][e=f]"},
      {{"a=b; a=c"}, "[a=b][a=c]"},
      {{"a=b", "c=d; e=f"}, "[a=b][c=d][e=f]"},  // HTTP/2
      {{"a=b=c=="}, "[a=b=c==]"},
      {{"a="}, "[a=]"},
      {{"=b"}, "[=b]"},
      {{"b"}, "[=b]"},
      {{" ; ;a=b;; "}, "[a=b]"},
      {{"a = b"}, "[a=b]"},
      {{"a=\"b c\"; d=\"e;f\""}, "[a=\"b c\"][d=\"e][=f\"]"},
      {{"a=%20+,\xc3\xa9"}, "[a=%20+,\xc3\xa9]"},
      {{"a b=c"}, "[a b=c]"},
  };
  for (const Row& row : rows) {
    Fields fields;
    fields.add("X-Cookie", "x=y");
    for (const std::string& line : row.lines) fields.add("cOOkie", line);
    EXPECT_EQ(text_of(Cookies(fields)), row.expected);
  }
}

TEST(Cookies, Lookup) {
  RequestHead head;
  const PathParams params;
  head.fields.add("cookie", "id=1; ID=2");
  head.fields.add("cookie", "id=3; x");
  const Request request(head, params, nullptr);
  const Cookies cookies = request.cookies();
  EXPECT_EQ(cookies.find("id"), "1");
  EXPECT_EQ(cookies.find("ID"), "2");
  EXPECT_EQ(cookies.find("Id"), std::nullopt);
  EXPECT_EQ(cookies.find(""), "x");
  EXPECT_EQ(cookies.size(), 4U);
  EXPECT_FALSE(cookies.empty());
  EXPECT_TRUE(Cookies(Fields()).empty());
}

TEST(SetCookie, Fields) {
  const std::vector<std::pair<SetCookie, std::string>> rows = {
      {{.name = "a"}, "a=; Path=/; HttpOnly; SameSite=Lax"},
      {{.name = "a", .value = "b", .path = "", .http_only = false, .same_site = {}}, "a=b"},
      {{.name = "a", .value = "\"b\"", .path = "/x y", .http_only = false, .same_site = {}},
       "a=\"b\"; Path=/x y"},
      {{.name = "a", .value = "!#$%&'()*+-./:<=>?@[]^_`{|}~", .path = "", .same_site = {}},
       "a=!#$%&'()*+-./:<=>?@[]^_`{|}~; HttpOnly"},
      {{.name = "a", .value = "b", .domain = "a-1.example", .same_site = SameSite::strict},
       "a=b; Path=/; Domain=a-1.example; HttpOnly; SameSite=Strict"},
      {{.name = "a", .max_age_s = 0}, "a=; Path=/; Max-Age=0; HttpOnly; SameSite=Lax"},
      {{.name = "a", .max_age_s = 34'560'000, .expires_s = 784'111'777},
       "a=; Path=/; Max-Age=34560000; Expires=Sun, 06 Nov 1994 08:49:37 GMT; HttpOnly; "
       "SameSite=Lax"},
      {{.name = "a", .expires_s = -11'644'473'600, .http_only = false, .same_site = {}},
       "a=; Path=/; Expires=Mon, 01 Jan 1601 00:00:00 GMT"},
      {{.name = "a", .expires_s = 253'402'300'799, .http_only = false, .same_site = {}},
       "a=; Path=/; Expires=Fri, 31 Dec 9999 23:59:59 GMT"},
      {{.name = "a", .secure = true, .same_site = SameSite::none, .partitioned = true},
       "a=; Path=/; Secure; HttpOnly; SameSite=None; Partitioned"},
      {{.name = "__Secure-a", .domain = "b.c", .secure = true, .same_site = {}},
       "__Secure-a=; Path=/; Domain=b.c; Secure; HttpOnly"},
      {{.name = "__Host-a", .secure = true, .same_site = {}},
       "__Host-a=; Path=/; Secure; HttpOnly"},
      {{.name = "__Hosta", .path = "/b", .same_site = {}}, "__Hosta=; Path=/b; HttpOnly"},
  };
  for (const auto& [cookie, expected] : rows) EXPECT_EQ(to_field(cookie), expected);
}

TEST(SetCookie, RefusesWhatBrowsersWouldNotKeep) {
  const std::string long_label(64, 'a');
  const std::string label(63, 'a');
  const std::vector<SetCookie> rows = {
      {.name = ""},
      {.name = "a b"},
      {.name = "a="},
      {.name = "a;"},
      {.name = "caf\xc3\xa9"},
      {.name = "a\n"},
      {.name = "a", .value = "b c"},
      {.name = "a", .value = "b;c"},
      {.name = "a", .value = "b,c"},
      {.name = "a", .value = "b\\c"},
      {.name = "a", .value = "\""},
      {.name = "a", .value = "b\"c"},
      {.name = "a", .value = "\"b"},
      {.name = "a", .value = "\"b\"c\""},
      {.name = "a", .value = "caf\xc3\xa9"},
      {.name = "a", .value = "b\r\nSet-Cookie: c=d"},
      {.name = "a", .value = "b\0"s},
      {.name = "a", .value = "b\x7f"},
      {.name = "a", .value = std::string(4096, 'b')},
      {.name = "a", .path = "b"},
      {.name = "a", .path = "/b;c"},
      {.name = "a", .path = "/b\n"},
      {.name = "a", .path = "/b "},
      {.name = "a", .path = "/\xc3\xa9"},
      {.name = "a", .path = "/" + std::string(1024, 'b')},
      {.name = "a", .domain = ".b.c"},
      {.name = "a", .domain = "b."},
      {.name = "a", .domain = "b..c"},
      {.name = "a", .domain = "-b.c"},
      {.name = "a", .domain = "b-.c"},
      {.name = "a", .domain = "b;c"},
      {.name = "a", .domain = "b c"},
      {.name = "a", .domain = "b:80"},
      {.name = "a", .domain = "b_c"},
      {.name = "a", .domain = long_label},
      {.name = "a", .domain = label + "." + label + "." + label + "." + label},
      {.name = "a", .max_age_s = -1},
      {.name = "a", .expires_s = -11'644'473'601},
      {.name = "a", .expires_s = 253'402'300'800},
      {.name = "a", .same_site = SameSite::none},
      {.name = "a", .partitioned = true},
      {.name = "__Secure-a"},
      {.name = "__secure-a"},
      {.name = "__Host-a"},
      {.name = "__HOST-a"},
      {.name = "__Host-a", .path = "/b", .secure = true},
      {.name = "__Host-a", .path = "", .secure = true},
      {.name = "__Host-a", .domain = "b.c", .secure = true},
  };
  for (const SetCookie& cookie : rows) {
    EXPECT_THROW(static_cast<void>(to_field(cookie)), std::invalid_argument)
        << cookie.name << "=" << cookie.value << " " << cookie.path << " " << cookie.domain;
  }
}

TEST(SetCookie, GrowsToItsLimits) {
  EXPECT_NO_THROW(static_cast<void>(to_field({.name = "a", .value = std::string(4095, 'b')})));
  EXPECT_NO_THROW(static_cast<void>(to_field({.name = "a", .path = "/" + std::string(1023, 'b')})));
  EXPECT_NO_THROW(static_cast<void>(to_field({.name = "a", .domain = std::string(63, 'b')})));
}

TEST(SetCookie, OfAResponse) {
  Response response(204);
  response.set_cookie({.name = "a", .value = "b"}).set_cookie({.name = "a", .value = "c"});
  ASSERT_EQ(response.fields().size(), 2U);
  EXPECT_EQ(response.fields()[0].name, "Set-Cookie");
  EXPECT_EQ(response.fields()[0].value, "a=b; Path=/; HttpOnly; SameSite=Lax");
  EXPECT_EQ(response.fields()[1].value, "a=c; Path=/; HttpOnly; SameSite=Lax");
  EXPECT_THROW(response.set_cookie({.name = "a b"}), std::invalid_argument);
  EXPECT_EQ(response.fields().size(), 2U);
}

}  // namespace cookies_test
}  // namespace h2server
