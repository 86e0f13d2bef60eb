#include "h2server/authorization.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "base/text/base64.h"

namespace h2server {
namespace authorization_test {

using namespace std::string_literals;

std::string text_of(const std::optional<Credentials>& credentials) {
  if (!credentials) return "-";
  std::string text = std::string(credentials->scheme) + "|" + std::string(credentials->token) + "|";
  for (const Parameter& parameter : credentials->parameters) {
    text += "[" + parameter.name + "=" + parameter.value + "]";
  }
  return text;
}

// RFC 9110, 11.4.
TEST(Credentials, Forms) {
  const std::vector<std::pair<std::string, std::string>> rows = {
      {"Basic", "Basic||"},
      {"Bearer abc", "Bearer|abc|"},
      {"Bearer   abc ", "Bearer|abc|"},
      {"Bearer a-._~+/1==", "Bearer|a-._~+/1==|"},
      {"Bearer a=", "Bearer|a=|"},
      {"x a=b", "x||[a=b]"},
      {"x a = b", "x||[a=b]"},
      {"x a=\"b\"", "x||[a=b]"},
      {"x a=\"\"", "x||[a=]"},
      {"x a=\"b, c=d\", e=\"\\\"\\\\f\"", "x||[a=b, c=d][e=\"\\f]"},
      {"x a=b,,\tc=d ,", "x||[a=b][c=d]"},
      {"x a=\"caf\xc3\xa9\"", "x||[a=caf\xc3\xa9]"},
      {"Digest username=\"Mufasa\", realm=\"a@b\", uri=\"/dir/x?y=z\", qop=auth, nc=00000001",
       "Digest||[username=Mufasa][realm=a@b][uri=/dir/x?y=z][qop=auth][nc=00000001]"},
      // Malformed.
      {"", "-"},
      {" ", "-"},
      {"a/b", "-"},
      {"a\tb", "-"},
      {"x =", "-"},
      {"x ==", "-"},
      {"x a b", "-"},
      {"x a, b=c", "-"},
      {"x a=b c=d", "-"},
      {"x a=b=c", "-"},
      {"x a=, b=c", "-"},
      {"x a=\"b", "-"},
      {"x a=\"b\\\"", "-"},
      {"x a=\"b\"c", "-"},
      {"x a=\"b\"\"c\"", "-"},
      {"x a=\"b\nc\"", "-"},
      {"x a b=\"c\"", "-"},
      {"x a=b, A=c", "-"},  // 11.2: once per challenge
      {"x caf\xc3\xa9", "-"},
      {"x a,b", "-"},
      {"Bearer a=b=", "-"},
      {"Bearer abc def", "-"},
      {"Bearer abc, def", "-"},
  };
  for (const auto& [value, expected] : rows) {
    EXPECT_EQ(text_of(parse_credentials(value)), expected) << testing::PrintToString(value);
  }
}

struct Asked {
  explicit Asked(const std::vector<std::string>& lines) {
    for (const std::string& line : lines) head.fields.add("aUthorization", line);
    head.fields.add("proxy-authorization", "Bearer proxy");
  }
  RequestHead head;
  PathParams params;
  Request request{head, params, nullptr};
};

// RFC 7617.
TEST(Credentials, Basic) {
  struct Row {
    std::vector<std::string> lines;
    std::string expected;
  };
  const auto basic = [](const std::string& text) { return "Basic " + base::encode_base64(text); };
  const std::vector<Row> rows = {
      {{"Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ=="}, "Aladdin|open sesame"},  // 2
      {{"Basic dGVzdDoxMjPCow=="}, "test|123\xc2\xa3"},                 // 2.1
      {{"bASIC QWxhZGRpbjpvcGVuIHNlc2FtZQ=="}, "Aladdin|open sesame"},
      {{basic(":")}, "|"},
      {{basic("a:")}, "a|"},
      {{basic(":b")}, "|b"},
      {{basic("a:b:c")}, "a|b:c"},
      {{basic("\xff:\x80")}, "\xff|\x80"},
      {{}, "-"},
      {{""}, "-"},
      {{"Basic"}, "-"},
      {{basic("")}, "-"},
      {{basic("ab")}, "-"},  // no colon
      {{basic("a\0:b"s)}, "-"},
      {{basic("a:b\n")}, "-"},
      {{basic("a\x7f:b")}, "-"},
      {{"Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ"}, "-"},  // without padding
      {{"Basic YTpi", "Basic YTpi"}, "-"},
      {{"Basic YTpi, Basic YTpi"}, "-"},
      {{"Bearer YTpi"}, "-"},
      {{"Basic a=b"}, "-"},
      {{"Basic a:b"}, "-"},
      {{"BasicYTpi"}, "-"},
      {{"Basic YT-i"}, "-"},
  };
  for (const Row& row : rows) {
    const Asked asked(row.lines);
    const auto found = basic_credentials(asked.request);
    EXPECT_EQ(found ? found->user + "|" + found->password : "-", row.expected)
        << testing::PrintToString(row.lines);
  }
}

// RFC 6750, 2.1.
TEST(Credentials, Bearer) {
  struct Row {
    std::vector<std::string> lines;
    std::string expected;
  };
  const std::vector<Row> rows = {
      {{"Bearer mF_9.B5f-4.1JqM"}, "mF_9.B5f-4.1JqM"},
      {{"BEARER a=="}, "a=="},
      {{}, "-"},
      {{"Bearer"}, "-"},
      {{"Bearer "}, "-"},
      {{"Bearer a", "Bearer a"}, "-"},
      {{"Basic a", "Bearer a"}, "-"},
      {{"Basic a"}, "-"},
      {{"Bearers a"}, "-"},
      {{"Bearer a=b"}, "-"},
      {{"Bearer a b"}, "-"},
      {{"Bearer a,b"}, "-"},
      {{"Bearer \"a\""}, "-"},
  };
  for (const Row& row : rows) {
    const Asked asked(row.lines);
    EXPECT_EQ(bearer_token(asked.request).value_or("-"), row.expected)
        << testing::PrintToString(row.lines);
  }
}

TEST(EqualInConstantTime, ComparesAllBytes) {
  EXPECT_TRUE(equal_in_constant_time("", ""));
  EXPECT_FALSE(equal_in_constant_time("", "a"));
  EXPECT_FALSE(equal_in_constant_time("a", ""));
  EXPECT_FALSE(equal_in_constant_time("a", "ab"));
  EXPECT_FALSE(equal_in_constant_time("a", "a\0"s));
  const std::string secret = "s3cret\0\xff"s;
  EXPECT_TRUE(equal_in_constant_time(secret, std::string(secret)));
  for (std::size_t at = 0; at < secret.size(); ++at) {
    for (int bit = 0; bit < 8; ++bit) {
      std::string other = secret;
      other[at] = static_cast<char>(other[at] ^ (1 << bit));
      EXPECT_FALSE(equal_in_constant_time(secret, other)) << at << " " << bit;
    }
  }
}

}  // namespace authorization_test
}  // namespace h2server
