#include "http/hosts.h"

#include <gtest/gtest.h>

namespace h2server::http {
namespace hosts_test {

HostRoutes* add(HostTable& table, const std::vector<std::string>& names) {
  return table.add(names);
}

TEST(HostTable, NumbersHostsInTheirOrder) {
  HostTable table;
  EXPECT_TRUE(table.empty());
  HostRoutes* const first = add(table, {"a.test", "www.a.test"});
  HostRoutes* const second = add(table, {"*.b.test"});
  ASSERT_NE(first, nullptr);
  ASSERT_NE(second, nullptr);
  EXPECT_EQ(first->number, 1U);
  EXPECT_EQ(first->name, "a.test");
  EXPECT_EQ(second->number, 2U);
  EXPECT_EQ(table.find("WWW.a.test:80"), first);
  EXPECT_EQ(table.find("x.b.test"), second);
  EXPECT_EQ(table.find("c.test"), nullptr);
  EXPECT_EQ(table.hosts().size(), 2U);
}

TEST(HostTable, KnowsAHostByAnyOfItsNames) {
  HostTable table;
  HostRoutes* const host = add(table, {"a.test", "b.test"});
  EXPECT_EQ(add(table, {"b.test"}), host);
  EXPECT_EQ(add(table, {"B.TEST", "a.test"}), host);
  EXPECT_EQ(add(table, {"b.test", "new.test"}), nullptr) << "one is new";
  ASSERT_NE(add(table, {"c.test"}), nullptr);
  EXPECT_EQ(add(table, {"a.test", "c.test"}), nullptr) << "of different hosts";
  EXPECT_EQ(add(table, {"d.test", "a.test"}), nullptr);
  EXPECT_EQ(table.hosts().size(), 2U);
}

}  // namespace hosts_test
}  // namespace h2server::http
