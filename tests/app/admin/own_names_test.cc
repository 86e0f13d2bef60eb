#include "app/admin/own_names.h"

#include <gtest/gtest.h>

#include "http/middleware_support.h"

namespace h2server::app {
namespace own_names_test {

TEST(OwnNames, AreThoseThatNobodyElseCanGive) {
  struct Row {
    const char* authority;
    bool local;  // is_address_or_localhost()
    bool own;
  };
  constexpr Row rows[] = {
      {"127.0.0.1", true, true},
      {"192.0.2.1:8080", true, true},
      {"[::1]:80", true, true},
      {"LocalHost:1", true, true},
      {"localhost.", true, true},
      {"nas", false, true},
      {"NAS:8080", false, true},
      {"nas.local", false, true},
      {"nas.LAN:1", false, true},
      {"a.localhost", false, true},
      {"nas.home.arpa", false, true},
      {"machine.example.com", false, true},
      {"Machine.Example.COM.:8443", false, true},
      {"evil.example.com", false, false},
      {"machine.example.com.evil.org", false, false},
      {"local.evil.org", false, false},
      {"evillocal.org", false, false},
      {"evil%2ecom", false, false},
      {"evil.com%00.local", false, false},
      {".", false, false},
      {"", false, true},
      {"nas.fritz.box", false, true},
      {"evilfritz.box", false, false},
      {"evil.xlan", false, false},
      {"127.0.0.1.evil.org", false, false},
  };
  for (const Row& row : rows) {
    EXPECT_EQ(is_address_or_localhost(row.authority), row.local) << row.authority;
    EXPECT_EQ(is_own_name(row.authority, "machine.example.com"), row.own) << row.authority;
  }
}

TEST(OwnNames, AreAskedForInCleartext) {
  for (const bool encrypted : {false, true}) {
    tests::Passage passage(own_names_only());
    passage.encrypted = encrypted;
    passage.authority = "evil.example.org";
    EXPECT_EQ(passage.get().status(), encrypted ? 200 : 421);
    passage.authority = "localhost:80";
    EXPECT_EQ(passage.get().status(), 200);
  }
}

}  // namespace own_names_test
}  // namespace h2server::app
