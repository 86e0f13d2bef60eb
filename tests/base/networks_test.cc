#include "base/networks.h"

#include <gtest/gtest.h>

namespace h2server::base {
namespace networks_test {

TEST(Networks, ContainTheirAddresses) {
  struct Row {
    std::vector<std::string> networks;
    std::string address;
    bool contained;
  };
  const Row rows[] = {
      {{"192.0.2.7"}, "192.0.2.7", true},
      {{"192.0.2.7"}, "192.0.2.8", false},
      {{"192.0.2.7"}, "::ffff:192.0.2.7", true},  // as an IPv6 socket sees an IPv4 client
      {{"10.0.0.0/8"}, "10.255.255.255", true},
      {{"10.0.0.0/8"}, "11.0.0.0", false},
      {{"10.0.0.0/8"}, "::10.0.0.1", false},
      {{"192.168.4.0/22"}, "192.168.7.255", true},
      {{"192.168.4.0/22"}, "192.168.8.0", false},
      {{"0.0.0.0/0"}, "203.0.113.1", true},
      {{"0.0.0.0/0"}, "2001:db8::1", false},
      {{"::/0"}, "2001:db8::1", true},
      {{"::/0"}, "203.0.113.1", true},  // mapped
      {{"2001:db8::/33"}, "2001:db8:7fff::", true},
      {{"2001:db8::/33"}, "2001:db8:8000::", false},
      {{"fe80::/10"}, "fe80::1%eth0", true},
      {{"192.0.2.1", "2001:db8::/32"}, "2001:db8::5", true},
      {{}, "192.0.2.1", false},
      {{"0.0.0.0/0"}, "", false},
      {{"0.0.0.0/0"}, "unknown", false},
  };
  for (const Row& row : rows) {
    const auto networks = Networks::parse(row.networks);
    ASSERT_TRUE(networks) << networks.error();
    EXPECT_EQ(networks->contains(row.address), row.contained) << row.address;
  }
}

TEST(Networks, RefuseWhatIsNone) {
  for (const char* const text :
       {"", "/8", "10.0.0.0/", "10.0.0.0/33", "10.0.0.0/-1", "10.0.0.0/8x", "10.0.0.1/8", "10.0.0",
        "2001:db8::/129", "2001:db8::1/32", "fe80::1%eth0", "localhost", "10.0.0.0/8/8"}) {
    const auto networks = Networks::parse({"192.0.2.1", text});
    ASSERT_FALSE(networks) << text;
    EXPECT_NE(networks.error().find('"' + std::string(text) + '"'), std::string::npos);
  }
}

TEST(Networks, KnowAddresses) {
  EXPECT_TRUE(Networks::is_address("192.0.2.1"));
  EXPECT_TRUE(Networks::is_address("2001:db8::1"));
  EXPECT_FALSE(Networks::is_address("[2001:db8::1]"));
  EXPECT_FALSE(Networks::is_address("192.0.2.1:80"));
  EXPECT_FALSE(Networks::is_address("example.com"));
}

}  // namespace networks_test
}  // namespace h2server::base
