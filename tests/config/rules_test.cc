#include "config/rules.h"

#include <gtest/gtest.h>

#include <string>

namespace h2server::config {
namespace rules_test {

TEST(Hosts, AreNormalised) {
  EXPECT_EQ(read_host("Example.COM"), "example.com");
  EXPECT_EQ(read_host("example.com."), "example.com");
  EXPECT_EQ(read_host("*.Example.com"), "*.example.com");
  EXPECT_EQ(read_host("192.0.2.1"), "192.0.2.1");
  EXPECT_EQ(read_host("[2001:DB8::1]"), "[2001:db8::1]");
  EXPECT_EQ(read_host("2001:db8::1"), "[2001:db8::1]");
  EXPECT_EQ(read_host("localhost"), "localhost");
  for (const std::string text : {"", ".", "*.", "*", "a.*.b", "a:80", "a/b", "a b", "a..b", ".a",
                                 "http://a", "m\xC3\xBCller.de", "[::1", "[::g]"}) {
    EXPECT_FALSE(read_host(text)) << text;
  }
  EXPECT_FALSE(read_host(std::string(254, 'a')));
}

TEST(Networks, AreAddressesWithAPrefix) {
  for (const char* const text :
       {"10.0.0.0/8", "127.0.0.1", "0.0.0.0/0", "2001:db8::/32", "::1", "::/128"}) {
    EXPECT_TRUE(read_network(text)) << text;
  }
  for (const char* const text : {"", "10.0.0/8", "10.0.0.0/33", "10.0.0.0/", "::1/129", "::1/-1",
                                 "10.0.0.1/8", "example.com", "/8", "[::1]"}) {
    EXPECT_FALSE(read_network(text)) << text;
  }
}

TEST(AdminAddresses, AreLocalOrNot) {
  for (const char* const text :
       {"127.0.0.1:9000", "127.1.2.3:1", "[::1]:9000", "localhost:9000", "unix:/run/admin.sock"}) {
    EXPECT_TRUE(read_admin_address(text)) << text;
    EXPECT_TRUE(is_local(text)) << text;
  }
  for (const char* const text :
       {"0.0.0.0:9000", "[::]:9000", "192.0.2.1:1", "admin.example:1", "127.example.com:1"}) {
    EXPECT_TRUE(read_admin_address(text)) << text;
    EXPECT_FALSE(is_local(text)) << text;
  }
  for (const char* const text : {"", "9000", ":9000", "127.0.0.1", "127.0.0.1:", "127.0.0.1:x",
                                 "127.0.0.1:65536", "::1:9000", "[127.0.0.1]:1", "unix:"}) {
    EXPECT_FALSE(read_admin_address(text)) << text;
  }
}

TEST(Redirects, HaveAStatus) {
  const PathRule rule = *read_redirect("/old/** https://b.example/$1 308");
  EXPECT_EQ(rule.from, "/old/**");
  EXPECT_EQ(rule.to, "https://b.example/$1");
  EXPECT_EQ(rule.status, 308);
  EXPECT_EQ(read_redirect("/a /b")->status, 302);
  EXPECT_EQ(read_redirect("  /a\t/b  301 ")->status, 301);
  for (const char* const text : {"", "/a", "a /b", "/a b", "/a /b 200", "/a /b 3011", "/a /b 301 x",
                                 "/a /$1", "/* /$2", "/a ftp://b/"}) {
    EXPECT_FALSE(read_redirect(text)) << text;
  }
  EXPECT_TRUE(read_redirect("/*/x/** /$2/$1"));
  EXPECT_FALSE(read_redirect("/** https://$1/")) << "clients would choose the host";
}

TEST(Rewrites, LeadToPaths) {
  EXPECT_EQ(read_rewrite("/a/* /b/$1")->to, "/b/$1");
  EXPECT_EQ(read_rewrite("/a /b")->status, 0);
  for (const char* const text : {"", "/a", "/a b", "/a /b 301", "/a https://b/", "/a /$1"}) {
    EXPECT_FALSE(read_rewrite(text)) << text;
  }
}

TEST(CacheRules, AreFields) {
  const HeaderRule rule = *read_cache_rule("/assets/** 1h");
  EXPECT_EQ(rule.pattern, "/assets/**");
  EXPECT_EQ(rule.name, "Cache-Control");
  EXPECT_EQ(rule.value, "max-age=3600");
  EXPECT_EQ(read_cache_rule("/ no-store")->value, "no-store");
  EXPECT_EQ(read_cache_rule("/ no-cache")->value, "no-cache");
  EXPECT_EQ(read_cache_rule("/ 0")->value, "max-age=0");
  for (const char* const text : {"", "/", "a 1h", "/ 1", "/ public", "/ 1h 1h"}) {
    EXPECT_FALSE(read_cache_rule(text)) << text;
  }
}

TEST(HeaderRules, HaveAFieldAndMayHaveAValue) {
  EXPECT_EQ(read_header_rule("/**.css A-B: c: d ")->value, "c: d");
  EXPECT_EQ(read_header_rule("/** A:")->value, "");
  for (const char* const text : {"", "/a", "a B: c", "/a B", "/a : c", "/a b c: d"}) {
    EXPECT_FALSE(read_header_rule(text)) << text;
  }
}

TEST(Modes, AreOctal) {
  EXPECT_EQ(read_mode("0660"), 0660U);
  EXPECT_EQ(read_mode("600"), 0600U);
  for (const char* const text : {"", "0", "8", "01000", "rw", "660 "}) {
    EXPECT_FALSE(read_mode(text)) << text;
  }
}

}  // namespace rules_test
}  // namespace h2server::config
