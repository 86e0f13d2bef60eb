#include "http/target.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace h2server::http {
namespace {

struct Good {
  std::string raw;
  std::string path;
  std::string query = "";
  std::string authority = "";
};

const std::vector<Good> good = {
    {"/", "/"},
    {"*", "*"},
    {"/a/b.c", "/a/b.c"},
    {"/a?", "/a"},
    {"/a?b=c&d=%2e%2e/../x?y", "/a", "b=c&d=%2e%2e/../x?y"},
    {"//", "//"},
    {"//a", "//a"},
    {"/a//b/", "/a//b/"},
    {"/...", "/..."},
    {"/a/.b/..c/d../e.", "/a/.b/..c/d../e."},
    {"/%41%62%7e", "/Ab~"},
    {"/%C3%A9", "/\xc3\xa9"},
    {"/a%20b%25c", "/a b%c"},
    {"/%252e%252e", "/%2e%2e"},  // decoded once
    {"/a%3Fb?c", "/a?b", "c"},
    {"/%2A", "/*"},
    {"/a;b=c,d:e@f!g$h&i'(j)k+l=m", "/a;b=c,d:e@f!g$h&i'(j)k+l=m"},
    {"http://host", "/", "", "host"},
    {"http://host/", "/", "", "host"},
    {"http://host:80/a?b", "/a", "b", "host:80"},
    {"HTTPS://[::1]:8080?q", "/", "q", "[::1]:8080"},
};

const std::vector<std::string> bad = {
    "",
    "a",
    "**",
    "host:443",
    "?a",
    "/a b",
    "/a#b",
    "/a\tb",
    "/a\x7f",
    "/caf\xc3\xa9",
    std::string("/a\0b", 4),
    "/.",
    "/..",
    "/a/../b",
    "/a/./b",
    "/a/..",
    "/a/.?b",
    "/%2e",
    "/%2E%2e/a",
    "/.%2e/a",
    "/a/%2e%2e",
    "/%",
    "/%4",
    "/%4g",
    "/%g4",
    "/%%41",
    "/a%00b",
    "/a%2fb",
    "/a%2Fb",
    "http:/a",
    "http://",
    "http:///a",
    "http://u@host/",
    "http://host/../a",
    "http://ho st/",
    "ftp://host/",
};

TEST(Target, ReadsGoodTargets) {
  base::Arena arena;
  for (const Good& row : good) {
    const std::optional<Target> target = parse_target(row.raw, arena);
    ASSERT_TRUE(target.has_value()) << row.raw;
    EXPECT_EQ(target->path, row.path);
    EXPECT_EQ(target->query, row.query);
    EXPECT_EQ(target->authority, row.authority);
  }
}

TEST(Target, RefusesBadTargets) {
  base::Arena arena;
  for (const std::string& raw : bad) EXPECT_FALSE(parse_target(raw, arena).has_value()) << raw;
}

// Every byte, raw and escaped: which are refused is decided here once more, in other words.
TEST(Target, DecidesOnEveryByte) {
  constexpr std::string_view digits = "0123456789abcdef";
  base::Arena arena;
  for (unsigned byte = 0; byte < 256; ++byte) {
    const std::string raw = {'/', 'a', static_cast<char>(byte), 'b'};
    const bool visible = byte >= 0x21 && byte <= 0x7e && byte != '#' && byte != '%';
    EXPECT_EQ(parse_target(raw, arena).has_value(), visible) << byte;
    const std::string escaped = {'/', 'a', '%', digits[byte / 16], digits[byte % 16], 'b'};
    const std::optional<Target> target = parse_target(escaped, arena);
    ASSERT_EQ(target.has_value(), byte != 0 && byte != '/') << byte;
    EXPECT_EQ(target ? target->path : raw, raw) << byte;
  }
}

TEST(Target, KnowsAnAuthority) {
  for (const char* const text : {"", "a", "a:1", "127.0.0.1:80", "[::1]", "[fe80::1%25eth0]:1"}) {
    EXPECT_TRUE(is_authority(text)) << text;
  }
  for (const char* const text :
       {" ", "a b", "a/b", "u@a", "a?b", "a#b", "a\\b", "\"a\"", "a\x80"}) {
    EXPECT_FALSE(is_authority(text)) << text;
  }
}

}  // namespace
}  // namespace h2server::http
