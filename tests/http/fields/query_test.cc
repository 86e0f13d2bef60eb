#include "h2server/query.h"

#include <gtest/gtest.h>

#include <cerrno>
#include <string>
#include <vector>

#include "content/support.h"
#include "h2server/request.h"

namespace h2server {
namespace query_test {

using namespace std::string_literals;
using tests::run_now;

std::string text_of(const Parameters& parameters) {
  std::string text;
  for (const Parameter& item : parameters) text += "[" + item.name + "=" + item.value + "]";
  return text;
}

// WHATWG URL, 5.1.
TEST(Parameters, Decoding) {
  const std::string replaced = "\xef\xbf\xbd";
  const std::vector<std::pair<std::string, std::string>> rows = {
      {"", ""},
      {"a", "[a=]"},
      {"a=", "[a=]"},
      {"=", "[=]"},
      {"=b", "[=b]"},
      {"a=b", "[a=b]"},
      {"a=b=c", "[a=b=c]"},
      {"a=b&c=d", "[a=b][c=d]"},
      {"a=1&a=2&A=3", "[a=1][a=2][A=3]"},
      {"&", ""},
      {"&&a&&b&&", "[a=][b=]"},
      {"a=b;c=d", "[a=b;c=d]"},
      {"a+b=c+d", "[a b=c d]"},
      {"a%2Bb=%26%3d%25", "[a+b=&=%]"},
      {"%61%3D=%3D", "[a===]"},
      {"a=%00"s, "[a=\0]"s},
      {"a=%C3%A9%f0%9f%98%80", "[a=\xc3\xa9\xf0\x9f\x98\x80]"},
      {"a=caf\xc3\xa9", "[a=caf\xc3\xa9]"},
      // Invalid escapes stand for themselves.
      {"a=%", "[a=%]"},
      {"a=%4", "[a=%4]"},
      {"a=%4&b", "[a=%4][b=]"},
      {"a=%zz%4g%g4", "[a=%zz%4g%g4]"},
      {"a=%%41", "[a=%A]"},
      {"a=%2541", "[a=%41]"},
      // Not UTF-8. A character may be split between an escape and a byte.
      {"a=%FF", "[a=" + replaced + "]"},
      {"%E2%82=%C3", "[" + replaced + "=" + replaced + "]"},
      {"a=%C3\xa9", "[a=\xc3\xa9]"},
      {"a=%ED%A0%80", "[a=" + replaced + replaced + replaced + "]"},
      {"%EF%BB%BFa=b", "[\xef\xbb\xbf"
                       "a=b]"},  // a byte order mark stays
  };
  for (const auto& [text, expected] : rows) {
    EXPECT_EQ(text_of(Parameters(text)), expected) << testing::PrintToString(text);
  }
}

TEST(Parameters, Lookup) {
  const Parameters parameters("b=1&a=2&b=3&c&b=");
  EXPECT_EQ(parameters.find("a"), "2");
  EXPECT_EQ(parameters.find("b"), "1");
  EXPECT_EQ(parameters.find("c"), "");
  EXPECT_EQ(parameters.find("B"), std::nullopt);
  EXPECT_EQ(parameters.find(""), std::nullopt);
  EXPECT_EQ(parameters.all("b"), (std::vector<std::string_view>{"1", "3", ""}));
  EXPECT_TRUE(parameters.all("d").empty());
  EXPECT_EQ(parameters.size(), 5U);
  EXPECT_FALSE(parameters.empty());
  EXPECT_TRUE(Parameters().empty());
  EXPECT_EQ(Parameters().find("a"), std::nullopt);
}

std::string repeated(std::size_t count) {
  std::string text;
  for (std::size_t i = 0; i < count; ++i) text += "a=b&";
  return text;
}

TEST(Parameters, KeepNoMoreThanTheLimit) {
  const Parameters all(repeated(Parameters::count_max) + "&&&");
  EXPECT_EQ(all.size(), Parameters::count_max);
  EXPECT_FALSE(all.truncated());
  const Parameters some(repeated(Parameters::count_max) + "&&c=d");
  EXPECT_EQ(some.size(), Parameters::count_max);
  EXPECT_EQ(some.find("c"), std::nullopt);
  EXPECT_TRUE(some.truncated());
}

TEST(Parameters, OfAQuery) {
  RequestHead head;
  const PathParams params;
  head.query = "q=a+b&n=%31";
  const Request request(head, params, nullptr);
  EXPECT_EQ(text_of(request.query_parameters()), "[q=a b][n=1]");
}

// Returns the parameters, or the code and the text of the error.
std::string read_form(std::optional<std::string_view> type, std::vector<std::string> pieces,
                      std::size_t bytes_max, std::optional<Error> failure = std::nullopt) {
  tests::FakeBody body(std::move(pieces), failure);
  RequestHead head;
  const PathParams params;
  if (type) head.fields.add("Content-Type", *type);
  Request request(head, params, &body);
  const Result<Parameters> form = run_now(request.read_form(bytes_max));
  if (form) return text_of(*form);
  return std::to_string(form.error().code) + " " + std::string(form.error().what);
}

TEST(Form, NeedsItsMediaType) {
  const std::string refused = std::to_string(EINVAL) + " not application/x-www-form-urlencoded";
  const std::vector<std::pair<std::optional<std::string_view>, std::string>> rows = {
      {"application/x-www-form-urlencoded", "[a=b]"},
      {"Application/X-WWW-Form-Urlencoded ; charset=UTF-8", "[a=b]"},
      {"application/x-www-form-urlencoded;", "[a=b]"},
      {std::nullopt, refused},
      {"", refused},
      {"application/json", refused},
      {"multipart/form-data; boundary=application/x-www-form-urlencoded", refused},
      {"application/x-www-form-urlencoded2", refused},
      {"x application/x-www-form-urlencoded", refused},
  };
  for (const auto& [type, expected] : rows) {
    EXPECT_EQ(read_form(type, {"a=b"}, 100), expected) << type.value_or("-");
  }
}

TEST(Form, ReadsTheWholeBody) {
  const std::string_view type = "application/x-www-form-urlencoded";
  EXPECT_EQ(read_form(type, {}, 0), "");
  EXPECT_EQ(read_form(type, {"a=%4", "1&b", "=c"}, 10), "[a=A][b=c]");
  const std::string too_long = std::to_string(EMSGSIZE) + " request body";
  EXPECT_EQ(read_form(type, {"a=%4", "1&b", "=c"}, 8), too_long);
  EXPECT_EQ(read_form(type, {"a"}, 0), too_long);
  EXPECT_EQ(read_form(type, {"a=b"}, 100, Error{ECONNRESET, "gone"}),
            std::to_string(ECONNRESET) + " gone");
  EXPECT_EQ(read_form(type, {repeated(Parameters::count_max), "a"}, 100'000),
            std::to_string(EMSGSIZE) + " form parameters");
}

}  // namespace query_test
}  // namespace h2server
