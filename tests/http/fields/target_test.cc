#include "http/fields/target.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace h2server::http {
namespace target_test {

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
    {"/.", "/"},
    {"/./", "/"},
    {"/./a", "/a"},
    {"/././a", "/a"},
    {"/a/.", "/a/"},
    {"/a/./", "/a/"},
    {"/a/././b", "/a/b"},
    {"/a/.?b", "/a/", "b"},
    {"/a/./?/./b", "/a/", "/./b"},
    {"/%2e", "/"},
    {"/%2E/%2e/a", "/a"},
    {"/%41/%2e/b/./%2e", "/A/b/"},
    {"/a/.%41/./...", "/a/.A/..."},
    {"/.//a", "//a"},  // empty segments stay
    {"//./a", "//a"},
    {"//.", "//"},
    {"/a.", "/a."},
    {"/a./b/.c", "/a./b/.c"},
    {"http://host/./a/.", "/a/", "", "host"},
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
    "/..",
    "/../",
    "/./..",
    "/../.",
    "/./../a",
    "/a/%2e/%2e%2e",
    "/a/../b",
    "/a/..",
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

// Checks every byte, raw and escaped, against an independent definition of what is refused.
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

struct GoodAuthority {
  std::string text;
  std::string host;
  std::optional<std::uint16_t> port = std::nullopt;
};

const std::vector<GoodAuthority> good_authorities = {
    {"a", "a"},
    {"a:1", "a", 1},
    {"a:", "a"},
    {"a:0", "a", 0},
    {"a:65535", "a", 65535},
    {"a:00000000000000000000080", "a", 80},
    {"EXAMPLE.com.", "EXAMPLE.com."},
    {"127.0.0.1:80", "127.0.0.1", 80},
    {"256.1.1.1", "256.1.1.1"},  // a name, not an address
    {"xn--caf-dma_~!$&'()*+,;=", "xn--caf-dma_~!$&'()*+,;="},
    {"caf%C3%a9:1", "caf%C3%a9", 1},
    {"[::]", "[::]"},
    {"[::1]:8080", "[::1]", 8080},
    {"[::1]:", "[::1]"},
    {"[2001:DB8::1]", "[2001:DB8::1]"},
    {"[1:2:3:4:5:6:7:8]", "[1:2:3:4:5:6:7:8]"},
    {"[1:2:3:4:5:6:7::]", "[1:2:3:4:5:6:7::]"},
    {"[::ffff:127.0.0.1]", "[::ffff:127.0.0.1]"},
    {"[ffff:ffff:ffff:ffff:ffff:ffff:255.255.255.255]",
     "[ffff:ffff:ffff:ffff:ffff:ffff:255.255.255.255]"},
    {"[v1.a]", "[v1.a]"},
    {"[VfF.a:b~!]:1", "[VfF.a:b~!]", 1},
};

const std::vector<std::string> bad_authorities = {
    "",
    " ",
    ":",
    ":80",
    "a b",
    "a/b",
    "u@a",
    "u:p@a",
    "@a",
    "a?b",
    "a#b",
    "a\\b",
    "\"a\"",
    "<a>",
    "a\x80",
    std::string("a\0", 2),
    "a:1:2",
    "a::1",
    "a:b",
    "a:-1",
    "a:+1",
    "a: 1",
    "a:1 ",
    "a:0x1",
    "a:65536",
    "a:18446744073709551617",  // 2^64 + 1
    "a%",
    "a%4",
    "a%zz",
    "a%4g",
    "%",
    "::1",
    "[",
    "]",
    "[]",
    "[]:1",
    "[::1",
    "::1]",
    "a[::1]",
    "[::1]x",
    "[::1]x:1",
    "[::1]80",
    "[::1]:80:1",
    "[::1]:65536",
    "[[::1]]",
    "[a]",
    "[127.0.0.1]",
    "[1]",
    "[:::]",
    "[1::2::3]",
    "[12345::]",
    "[1:2:3:4:5:6:7]",
    "[1:2:3:4:5:6:7:8:9]",
    "[1:2:3:4:5:6:7:8::]",
    "[::ffff:256.0.0.1]",
    "[::ffff:1.2.3]",
    "[fe80::1%25eth0]",
    "[fe80::1%eth0]",
    "[::1 ]",
    std::string("[::1\0]", 6),
    "[" + std::string(100, '0') + "::1]",
    "[v]",
    "[v1]",
    "[v1.]",
    "[v.a]",
    "[vg.a]",
    "[v1.a/b]",
    "[v1.%41]",
};

TEST(Target, ChecksWhatRulesMake) {
  struct Row {
    std::string path;
    std::optional<std::string_view> checked;
  };
  const Row rows[] = {
      {"/", "/"},
      {"/a/b", "/a/b"},
      {"/a../b", "/a../b"},
      {"/./a/.", "/a/"},
      {"/%2e%2e", "/%2e%2e"},
      {"/..", std::nullopt},
      {"/a/../b", std::nullopt},
      {"/a/..", std::nullopt},
      {std::string("/a\0b", 4), std::nullopt},
  };
  for (const Row& row : rows) {
    base::Arena arena;
    EXPECT_EQ(check_path(row.path, arena), row.checked) << row.path;
  }
}

TEST(Target, FindsTheOriginForm) {
  struct Row {
    const char* target;
    const char* origin_form;
  };
  constexpr Row rows[] = {
      {"/a?b", "/a?b"},       {"http://host/a?b", "/a?b"}, {"HTTPS://host:1/%41", "/%41"},
      {"http://host", "/"},   {"http://host?b", "/?b"},    {"*", "/"},
      {"http://[::1]/", "/"},
  };
  for (const Row& row : rows) EXPECT_EQ(origin_form_of(row.target), row.origin_form);
}

TEST(Target, LeadsToNoOtherHost) {
  struct Row {
    const char* path;
    const char* local;
  };
  constexpr Row rows[] = {
      {"/a//b", "/a//b"},
      {"//a", "/a"},
      {"///a/", "/a/"},
      {"/.//a", "/a"},
      {"/%2e/%2E//a", "/a"},
      {"/.a/b", "/.a/b"},
      {"/", "/"},
      {"//", "/"},
      {"/./a", "/a"},
      {"https://h", "https://h"},
  };
  for (const Row& row : rows) EXPECT_EQ(local_path_of(row.path), row.local) << row.path;
}

TEST(Target, ReadsAuthorities) {
  for (const GoodAuthority& row : good_authorities) {
    const std::optional<Authority> authority = parse_authority(row.text);
    ASSERT_TRUE(authority.has_value()) << row.text;
    EXPECT_EQ(authority->host, row.host);
    EXPECT_EQ(authority->port, row.port) << row.text;
  }
}

TEST(Target, RefusesBadAuthorities) {
  base::Arena arena;
  for (const std::string& text : bad_authorities) {
    EXPECT_FALSE(parse_authority(text).has_value()) << text;
    // In a target, '/', '?' and '#' end the authority, so a shorter one would be parsed.
    if (text.find_first_of("/?#") != std::string::npos) continue;
    EXPECT_FALSE(parse_target("http://" + text + "/", arena).has_value()) << text;
  }
}

}  // namespace target_test
}  // namespace h2server::http
