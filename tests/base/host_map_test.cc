#include "base/host_map.h"

#include <gtest/gtest.h>

namespace h2server::base {
namespace host_map_test {

TEST(HostMap, FindsTheClosestName) {
  HostMap<int> map;
  map.set("a.example", 1);
  map.set("*.example", 2);
  map.set("*.deep.example", 3);
  map.set("UPPER.test", 4);
  map.set("[2001:db8::1]", 5);
  map.set("192.0.2.1", 6);
  map.set("dot.test.", 7);
  struct Row {
    std::string_view authority;
    int found;  // 0: none
  };
  const Row rows[] = {
      {"a.example", 1},
      {"A.Example:8443", 1},
      {"a.example.", 1},
      {"a.example.:443", 1},
      {"b.example", 2},
      {"x.y.example", 2},
      {"x.deep.example", 3},
      {"x.y.deep.example", 3},
      {"deep.example", 2},  // "*." stands for something
      {"example", 0},
      {".example", 0},  // the key of a wildcard is no name
      {"upper.TEST", 4},
      {"[2001:db8::1]", 5},
      {"[2001:db8::1]:443", 5},
      {"[2001:db8::1", 0},
      {"192.0.2.1:80", 6},
      {"dot.test", 7},
      {"", 0},
      {":443", 0},
      {".", 0},
      {"[", 0},
      {"[]", 0},
      {"unknown.test", 0},
  };
  for (const Row& row : rows) {
    const int* const found = map.find(row.authority);
    EXPECT_EQ(found != nullptr ? *found : 0, row.found) << row.authority;
  }
}

TEST(HostMap, RefusesNamesThatAreTooLong) {
  HostMap<int> map;
  const std::string longest(255, 'a');
  map.set(longest, 1);
  map.set("*.example", 2);
  EXPECT_NE(map.find(longest), nullptr);
  EXPECT_EQ(map.find(longest + "a"), nullptr);
  EXPECT_EQ(map.find(std::string(300, 'a') + ".example"), nullptr);
}

TEST(HostMap, KeepsWhatWasAddedApart) {
  HostMap<int> map;
  map.set("*.example", 2);
  EXPECT_EQ(map.find_added("a.example"), nullptr);
  ASSERT_NE(map.find_added("*.EXAMPLE"), nullptr);
  map.set("*.example", 3);
  EXPECT_EQ(*map.find("a.example"), 3);
}

}  // namespace host_map_test
}  // namespace h2server::base
