#include "http/path_rules.h"

#include <gtest/gtest.h>

#include "http/middleware_support.h"

namespace h2server::http {
namespace path_rules_test {

TEST(PathPattern, CapturesWhatWildcardsMatch) {
  struct Row {
    std::string_view pattern;
    std::string_view path;
    std::vector<std::string_view> captures;
  };
  const Row rows[] = {
      {"/a", "/a", {}},
      {"/*", "/x", {"x"}},
      {"/*", "/", {""}},
      {"/**", "/a/b", {"a/b"}},
      {"/old/**", "/old/", {""}},
      {"/*/*", "/a/b", {"a", "b"}},
      {"/*.*", "/a.b.c", {"a", "b.c"}},
      {"/**/x", "/x", {""}},
      {"/**/x", "/a/b/x", {"a/b/"}},
      {"/**.tar.*", "/d/a.tar.tar.gz", {"d/a", "tar.gz"}},
      {"/a*b*c", "/aXbYbZc", {"X", "YbZ"}},
      {"/**b**", "/aab/ab", {"aa", "/ab"}},
      {"/?*", "/xyz", {"yz"}},
      {"/**/*.css", "/s/t/a.css", {"s/t/", "a"}},
  };
  for (const Row& row : rows) {
    const PathPattern pattern(row.pattern);
    PathPattern::Captures captures{};
    ASSERT_TRUE(pattern.matches(row.path, &captures)) << row.pattern;
    ASSERT_EQ(pattern.captures(), row.captures.size()) << row.pattern;
    for (std::size_t i = 0; i < row.captures.size(); ++i) {
      EXPECT_EQ(captures[i], row.captures[i]) << row.pattern << " on " << row.path << ", " << i;
    }
  }
}

TEST(PathPattern, CapturesTheFirstNine) {
  const PathPattern pattern("/*/*/*/*/*/*/*/*/*/*/*");
  EXPECT_EQ(pattern.captures(), 9U);
  PathPattern::Captures captures{};
  ASSERT_TRUE(pattern.matches("/1/2/3/4/5/6/7/8/9/10/11", &captures));
  EXPECT_EQ(captures[8], "9");
}

TEST(PathRewrites, FollowTheFirstRuleThatMatches) {
  const auto rewrites = PathRewrites::make({{"/download/*", "/files/$1.zip"},
                                            {"/a/**", "/$$1/$1"},
                                            {"/**/x", "/new/$1x"},
                                            {"/**", "/rest"}});
  ASSERT_TRUE(rewrites) << rewrites.error();
  base::Arena arena;
  EXPECT_EQ(rewrites->apply("/download/f", arena), "/files/f.zip");
  EXPECT_EQ(rewrites->apply("/a/b/c", arena), "/$1/b/c");
  EXPECT_EQ(rewrites->apply("/p/q/x", arena), "/new/p/q/x");
  EXPECT_EQ(rewrites->apply("/other", arena), "/rest");
  EXPECT_EQ(PathRewrites().apply("/other", arena), std::nullopt);
}

TEST(PathRewrites, RefuseWhatMakesNoSense) {
  struct Row {
    Rewrite rule;
    const char* error;
  };
  const Row rows[] = {
      {{"a", "/b"}, "does not begin"},        {{"", "/b"}, "does not begin"},
      {{"/a", "b"}, "does not begin"},        {{"/a", "/$1"}, "has 0 wildcards"},
      {{"/*", "/$2"}, "has 1 wildcard,"},     {{"/*", "/$"}, "followed by a digit"},
      {{"/*", "/$0"}, "followed by a digit"}, {{"/*", "/$x"}, "followed by a digit"},
      {{"/a", "/b/../c"}, "\"..\" segment"},  {{"/a", "/b/.."}, "\"..\" segment"},
  };
  for (const Row& row : rows) {
    const auto made = PathRewrites::make({row.rule});
    ASSERT_FALSE(made) << row.rule.from << row.rule.to;
    EXPECT_NE(made.error().find(row.error), std::string::npos) << made.error();
  }
}

class RedirectsTest : public testing::Test {
 protected:
  static std::string lead(const std::vector<Redirect>& rules, std::string_view path,
                          std::string_view query = "") {
    const Middleware middleware = redirects(rules);
    RequestHead head;
    head.path = path;
    head.query = query;
    const PathParams params;
    Request request(head, params, nullptr);
    const std::optional<Response> response = middleware.before()(request);
    if (!response) return "none";
    const std::optional<std::string_view> location = response->find("Location");
    return std::to_string(response->status()) + (location ? " " + std::string(*location) : "");
  }
};

TEST_F(RedirectsTest, LeadTheWay) {
  EXPECT_EQ(lead({{"/old/**", "/new/$1", 301}}, "/old/a/b"), "301 /new/a/b");
  EXPECT_EQ(lead({{"/old/**", "/new/$1", 301}}, "/older"), "none");
  EXPECT_EQ(lead({{"/b", "https://b.example/", 302}}, "/b"), "302 https://b.example/");
  EXPECT_EQ(lead({{"/*", "https://b.example/$1?x=1"}}, "/p", "q"), "302 https://b.example/p?x=1");
  EXPECT_EQ(lead({{"/*", "/to/$1", 308}}, "/p", "a=b&c"), "308 /to/p?a=b&c");
  EXPECT_EQ(lead({{"/old", "/new#part"}}, "/old", "x=1"), "302 /new?x=1#part");
}

// A client must not make the server name another host, nor end the field.
TEST_F(RedirectsTest, EncodeWhatClientsSend) {
  EXPECT_EQ(lead({{"/*", "/to/$1"}}, "/a b\r\nX: y?#%"), "302 /to/a%20b%0D%0AX%3A%20y%3F%23%25");
  EXPECT_EQ(lead({{"/go/**", "/$1"}}, "/go//evil.example/"), "302 /evil.example/");
  EXPECT_EQ(lead({{"/go/**", "/$1"}}, "/go/\\evil"), "302 /%5Cevil");
  EXPECT_EQ(lead({{"/go**", "/$1"}}, "/go..//evil.example"), "400");
  EXPECT_EQ(lead({{"/go**", "https://b.example/$1"}}, "/go../a"), "400");
  EXPECT_EQ(lead({{"/go**", "/to?$1"}}, "/go/../a"), "302 /to?/../a");
}

TEST_F(RedirectsTest, RefuseWhatMakesNoSense) {
  for (const Redirect& rule : std::vector<Redirect>{{"a", "/b"},
                                                    {"/a", "b"},
                                                    {"/a", "//b.example"},
                                                    {"/a", "ftp://b.example/"},
                                                    {"/*", "https://$1/"},
                                                    {"/**", "https:///$1"},
                                                    {"/a", "https://"},
                                                    {"/*", "https://b.$1"},
                                                    {"/a", "/b c"},
                                                    {"/a", "/b\n"},
                                                    {"/a", "/b", 200},
                                                    {"/a", "/b", 304},
                                                    {"/a", "/../b"},
                                                    {"/a", "https://b.example/.."},
                                                    {"/a", "/$1"}}) {
    EXPECT_THROW((void)redirects({rule}), std::invalid_argument) << rule.from << " " << rule.to;
  }
}

}  // namespace path_rules_test
}  // namespace h2server::http
