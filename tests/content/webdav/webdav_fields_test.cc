#include "content/webdav/webdav_fields.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

namespace h2server::content {
namespace webdav_fields_test {

using Value = std::optional<std::string_view>;

TEST(WebdavFields, Depth) {
  const std::vector<std::pair<Value, std::optional<Depth>>> rows = {
      {std::nullopt, Depth::one},
      {"0", Depth::zero},
      {"1", Depth::one},
      {"infinity", Depth::infinity},
      {"Infinity", Depth::infinity},
      {"", std::nullopt},
      {"2", std::nullopt},
      {"01", std::nullopt},
      {"1,noroot", std::nullopt},
      {"infinite", std::nullopt},
  };
  for (const auto& [value, depth] : rows) {
    EXPECT_EQ(parse_depth(value, Depth::one), depth) << value.value_or("-");
  }
}

TEST(WebdavFields, Overwrite) {
  const std::vector<std::pair<Value, std::optional<bool>>> rows = {
      {std::nullopt, true}, {"T", true},        {"F", false},
      {"f", false},         {"", std::nullopt}, {"true", std::nullopt},
  };
  for (const auto& [value, overwrite] : rows) {
    EXPECT_EQ(parse_overwrite(value), overwrite) << value.value_or("-");
  }
}

TEST(WebdavFields, Timeout) {
  const std::vector<std::pair<Value, std::uint32_t>> rows = {
      {std::nullopt, 3600},
      {"Second-60", 60},
      {"second-60", 60},
      {"Infinite", 3600},
      {"Infinite, Second-60", 3600},
      {"Extend-1, Second-60", 60},
      {"Second-60, Infinite", 60},
      {"Second-0", 1},
      {"Second-4100000000", 3600},
      {"Second-99999999999999999999999", 3600},
      {"Second-", 3600},
      {"Second-+5", 3600},
      {"Second--5, Second-7", 7},
      {"", 3600},
  };
  for (const auto& [value, seconds] : rows) {
    EXPECT_EQ(parse_timeout(value, 3600), seconds) << value.value_or("-");
  }
}

TEST(WebdavFields, LockToken) {
  const std::vector<std::pair<std::string_view, Value>> rows = {
      {"<urn:uuid:1>", "urn:uuid:1"}, {" <a:b> ", "a:b"},           {"urn:uuid:1", std::nullopt},
      {"<>", std::nullopt},           {"<a", std::nullopt},         {"<a> <b>", std::nullopt},
      {"<a b>", std::nullopt},        {"<\xc3\xa9>", std::nullopt},
  };
  for (const auto& [value, token] : rows) EXPECT_EQ(parse_coded_url(value), token) << value;
}

TEST(WebdavFields, Destination) {
  struct Row {
    std::string_view value;
    std::string path;  // or empty, and
    int status = 0;
    std::string_view authority = "example.org:8443";
  };
  const std::vector<Row> rows = {
      {"/files/a", "/files/a"},
      {"https://example.org:8443/files/a%20b/", "/files/a b/"},
      {"http://EXAMPLE.org/files/a", "/files/a"},
      {"http://example.org/files/a", "/files/a", 0, "example.org"},
      {"http://example.org:80/files/a", "/files/a", 0, "example.org"},
      {"http://example.org", "/"},
      {"http://other/files/a", "", 502},
      {"http://example.org:8444/files/a", "", 502},
      {"http://example.org:8443/files/../etc", "", 400},
      {"/files/%2e%2e/etc", "", 400},
      {"/files/a%2fb", "", 400},
      {"/files/a%00", "", 400},
      {"/files/a#b", "", 400},
      {"files/a", "", 400},
      {"ftp://example.org/files/a", "", 400},
      {"*", "", 400},
      {"", "", 400},
  };
  for (const Row& row : rows) {
    const Result<std::string, int> path = parse_reference(row.value, row.authority);
    EXPECT_EQ(path.value_or(""), row.path) << row.value;
    EXPECT_EQ(path ? 0 : path.error(), row.status) << row.value;
  }
}

TEST(WebdavFields, PathBelow) {
  const std::vector<std::pair<std::string_view, std::optional<std::string>>> rows = {
      {"/files", ""},           {"/files/", ""},       {"/files/a", "a"},
      {"/files/a/", "a"},       {"/files/a/b", "a/b"}, {"/filesystem", std::nullopt},
      {"/other", std::nullopt}, {"", std::nullopt},    {"/files//", ""},
  };
  for (const auto& [path, below] : rows) EXPECT_EQ(path_below(path, "/files"), below) << path;
}

// Returns the lists as "resource(token)(!\"tag\")", or "-".
std::string text_of(const std::optional<std::vector<IfList>>& lists) {
  if (!lists) return "-";
  std::string text;
  for (const IfList& list : *lists) {
    text.append(list.resource) += '(';
    for (const IfCondition& condition : list.conditions) {
      if (text.back() != '(') text += ' ';
      if (condition.negated) text += '!';
      text.append(condition.is_tag ? "#" : "").append(condition.value);
    }
    text += ')';
  }
  return text;
}

TEST(WebdavFields, If) {
  const std::vector<std::pair<std::string_view, std::string>> rows = {
      {"(<urn:uuid:1>)", "(urn:uuid:1)"},
      {"(<a:b> [\"x\"])", "(a:b #\"x\")"},
      {"(<a:b>[W/\"x\"])(<c:d>)", "(a:b #W/\"x\")(c:d)"},
      {"([\"x\"]<a:b>)", "(#\"x\" a:b)"},
      {" ( <a:b> ) (Not <DAV:no-lock>) ", "(a:b)(!DAV:no-lock)"},
      {"(NOT <a:b>[\"y\"] not[\"z\"])", "(!a:b #\"y\" !#\"z\")"},
      {"([\"a]>)\"])", "(#\"a]>)\")"},
      {"<http://a/b> (<c:d>)", "http://a/b(c:d)"},
      {"</x>(<c:d>)(<e:f>)</y>([\"t\"])", "/x(c:d)/x(e:f)/y(#\"t\")"},
      {"", "-"},
      {"()", "-"},
      {"(<>)", "-"},
      {"(<a:b)", "-"},
      {"(<a:b>", "-"},
      {"<a:b>", "-"},
      {"<a:b> <c:d> (<e:f>)", "-"},
      {"(<a:b>) <http://a/b> (<c:d>)", "-"},  // RFC 4918, 10.4.2: either all are tagged or none
      {"(a:b)", "-"},
      {"([x])", "-"},
      {"([\"x])", "-"},
      {"([\"x\"", "-"},
      {"(Not)", "-"},
      {"(<a b>)", "-"},
      {"x", "-"},
  };
  for (const auto& [value, lists] : rows) EXPECT_EQ(text_of(parse_if(value)), lists) << value;
}

TEST(WebdavFields, IfIsBounded) {
  std::string value;
  for (std::size_t i = 0; i < IfLimits::conditions_max; ++i) value += "(<a:b>)";
  EXPECT_EQ(parse_if(value)->size(), IfLimits::conditions_max);
  EXPECT_EQ(parse_if(value + "(<a:b>)"), std::nullopt);
  std::string list = "(";
  for (std::size_t i = 0; i <= IfLimits::conditions_max; ++i) list += "<a:b>";
  EXPECT_FALSE(parse_if(list + ")").has_value());
}

}  // namespace webdav_fields_test
}  // namespace h2server::content
