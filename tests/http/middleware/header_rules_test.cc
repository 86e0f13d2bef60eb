#include "h2server/header_rules.h"

#include <gtest/gtest.h>

#include <initializer_list>
#include <optional>
#include <random>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "h2server/test_client.h"
#include "http/path_pattern.h"

namespace h2server {
namespace header_rules_test {

TEST(PathPattern, Table) {
  struct Row {
    std::string pattern;
    std::vector<std::string> matching;
    std::vector<std::string> others;
  };
  const std::vector<Row> rows = {
      {"/", {"/"}, {"", "/a", "//"}},
      {"/a.css", {"/a.css"}, {"/a.css2", "/a-css", "/A.css", "/", "/b/a.css"}},
      {"/*", {"/", "/a", "/a.b"}, {"", "/a/", "/a/b", "//"}},
      {"/**", {"/", "/a", "/a/b", "//"}, {"", "a"}},
      {"/*.css", {"/.css", "/a.css", "/a.css.css", "/a.csscss.css"}, {"/a/b.css", "/a.cssx"}},
      {"/**.css", {"/.css", "/a.css", "/a/b.css", "/a/b.css/c.css"}, {"/a.css/", "/a.cssx"}},
      {"/**/*.css", {"/a.css", "/a/b.css", "/a/b/c.css"}, {"/a.css/", "a.css", "/a.js"}},
      {"/a/**/b", {"/a/b", "/a/x/b", "/a/x/y/b", "/a/b/b"}, {"/a", "/ab", "/a/xb", "/a/x/bb"}},
      {"/a/**", {"/a/", "/a/b/c"}, {"/a", "/ab"}},
      {"/a**", {"/a", "/ab", "/a/b"}, {"/ba"}},
      {"/a?c",
       {"/abc",
        "/a\xc3\xa4"
        "c",
        "/a?c", "/a*c"},
       {"/ac", "/a/c", "/abbc"}},
      {"/?", {"/a"}, {"/", "//", "/ab"}},
      {"/*a/*b", {"/a/b", "/aaa/bbb", "/xa/yb"}, {"/a/x", "/ax/b", "/a/c/b"}},
      {"/**a/*b", {"/x/y/a/b", "/a/a/b", "/a/xa/xb"}, {"/a/x/b", "/a/"}},
      {"/*/*/*", {"///", "/a/b/c"}, {"/a/b", "/a/b/c/d"}},
      {"/**x**y", {"/xy", "/a/x/b/y", "/xxyy"}, {"/y/x", "/yx"}},
      {"/a***b", {"/ab", "/a/x/b"}, {"/a"}},
  };
  for (const Row& row : rows) {
    const http::PathPattern pattern(row.pattern);
    for (const std::string& path : row.matching) {
      EXPECT_TRUE(pattern.matches(path)) << row.pattern << " " << path;
    }
    for (const std::string& path : row.others) {
      EXPECT_FALSE(pattern.matches(path)) << row.pattern << " " << path;
    }
  }
}

// By the definition alone, in exponential time.
bool matches_slowly(std::string_view pattern, std::string_view path, bool after_slash = false) {
  if (pattern.empty()) return path.empty();
  const auto behind = [&](std::size_t size) { return pattern.substr(size); };
  if (after_slash && pattern.starts_with("**/")) {
    if (matches_slowly(behind(3), path, true)) return true;
    for (std::size_t i = 0; i < path.size(); ++i) {
      if (path[i] == '/' && matches_slowly(behind(3), path.substr(i + 1), true)) return true;
    }
    return false;
  }
  const bool any = pattern.starts_with("**");
  if (any || pattern.starts_with('*')) {
    for (std::size_t i = 0; i <= path.size(); ++i) {
      if (matches_slowly(behind(any ? 2 : 1), path.substr(i))) return true;
      if (i < path.size() && !any && path[i] == '/') return false;
    }
    return false;
  }
  const bool one = pattern.front() == '?' && !path.empty() && path.front() != '/';
  if (!one && (path.empty() || path.front() != pattern.front())) return false;
  return matches_slowly(behind(1), path.substr(1), pattern.front() == '/');
}

TEST(PathPattern, AgreesWithItsDefinition) {
  std::mt19937 random(1);
  const auto text = [&random](std::initializer_list<const char*> pieces, unsigned size_max) {
    std::string made = "/";
    for (unsigned i = random() % (size_max + 1); i > 0; --i) {
      made += pieces.begin()[random() % pieces.size()];
    }
    return made;
  };
  int matching = 0;
  for (int round = 0; round < 200'000; ++round) {
    const std::string pattern = text({"a", "b", "/", "*", "**", "**/", "/**/", "?"}, 6);
    const std::string path = text({"a", "b", "/"}, 8);
    const bool matches = http::PathPattern(pattern).matches(path);
    ASSERT_EQ(matches, matches_slowly(pattern, path)) << pattern << " " << path;
    if (matches) ++matching;
  }
  EXPECT_GT(matching, 10'000);
}

// Ends: the time does not multiply with the number of wildcards.
TEST(PathPattern, ManyWildcards) {
  std::string stars = "/";
  for (int i = 0; i < 50; ++i) stars += "*a**a";
  const std::string path = "/" + std::string(8000, 'a');
  EXPECT_TRUE(http::PathPattern(stars).matches(path));
  EXPECT_FALSE(http::PathPattern(stars + "b").matches(path));
  EXPECT_FALSE(http::PathPattern("/**a*a*b").matches(path));
}

TEST(HasHashedName, Table) {
  for (const std::string path :
       {"/app.3f9a2b1c.js", "/assets/index-BsX2p9Qk.css", "/3f9a2b1c.js", "/a.b-3f9a2b1c.js.map",
        "/app.3F9A2B1C.js", "/x/app.d41d8cd98f00b204e9800998ecf8427e.js"}) {
    EXPECT_TRUE(has_hashed_name(path)) << path;
  }
  for (const std::string path :
       {"", "/", "/app.js", "/app.3f9a2b1.js", "/app.3f9a2b1c", "/app.3f9a2b1c.", "/3f9a2b1c",
        "/report-20240131.pdf", "/my-background.png", "/app.deadbeef.js", "/app.3f9a2b1c.js/x.js",
        "/app-3f9a2b_1c.js", "/app.3f9a2b1g.js", "/jquery-3.7.1.min.js", "/x.map", "/.map",
        "/REPORT2024.pdf"}) {
    EXPECT_FALSE(has_hashed_name(path)) << path;
  }
}

TEST(HeaderRules, TheLastThatMatchesCounts) {
  Server server;
  server.use(header_rules({{"/**", "X-Robots-Tag", "none"},
                           {"/**.css", "Cache-Control", "max-age=3600"},
                           immutable_files("/assets/**"),
                           {"/assets/live/*", "cache-control", "no-cache"},
                           {"/embed/*", "X-Robots-Tag", ""},
                           {"/embed/**", "X-Own", ""}}));
  server.get("/{path...}", [](Request&) {
    return Response(200).add("X-Own", "1").add("X-Own", "2").add("Cache-Control", "private");
  });
  server.get("/assets/gone.3f9a2b1c.js", [](Request&) { return Response(404); });
  TestClient client(server);
  struct Row {
    std::string target;
    std::optional<std::string> cache;
    std::optional<std::string> robots;
    std::optional<std::string> own;
  };
  const std::string immutable = "public, max-age=31536000, immutable";
  const std::vector<Row> rows = {
      {"/", "private", "none", "1"},
      {"/a.css", "max-age=3600", "none", "1"},
      {"/a%2ecss?x=/", "max-age=3600", "none", "1"},
      {"/assets/app.3f9a2b1c.css", immutable, "none", "1"},
      {"/assets/app.css", "max-age=3600", "none", "1"},
      {"/assets/app.js", "private", "none", "1"},
      {"/assets/gone.3f9a2b1c.js", std::nullopt, "none", std::nullopt},
      {"/assets/live/app.3f9a2b1c.js", "no-cache", "none", "1"},
      {"/embed/x", "private", std::nullopt, std::nullopt},
      {"/embed/x/y", "private", "none", std::nullopt},
  };
  for (const Row& row : rows) {
    const TestResponse response = client.get(row.target);
    EXPECT_EQ(response.field("Cache-Control"), row.cache) << row.target;
    EXPECT_EQ(response.field("X-Robots-Tag"), row.robots) << row.target;
    EXPECT_EQ(response.field("X-Own"), row.own) << row.target;
  }
}

TEST(HeaderRules, RefusesWhatCannotBe) {
  for (const HeaderRule& rule : std::vector<HeaderRule>{{"", "X-A", "b"},
                                                        {"*.css", "X-A", "b"},
                                                        {"/", "", "b"},
                                                        {"/", "X A", "b"},
                                                        {"/", "X A", ""},
                                                        {"/", "X-A", "b\r\nX-B: c"},
                                                        {"/", "Content-Length", "1"}}) {
    EXPECT_THROW(static_cast<void>(header_rules({rule})), std::invalid_argument) << rule.name;
  }
}

}  // namespace header_rules_test
}  // namespace h2server
