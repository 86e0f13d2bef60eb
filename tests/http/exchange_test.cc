#include "http/exchange.h"

#include <gtest/gtest.h>

#include <array>
#include <string>

namespace h2server::http {

TEST(Exchange, ShrinksAHeadToWhatIsRead) {
  ExchangeState exchange;
  base::Arena& arena = exchange.arena;
  RequestHead& head = exchange.head;
  head.method_name = arena.copy("GET");
  head.target = arena.copy("/a%20b?c");
  head.path = arena.copy("/a b");
  head.query = head.target.substr(7);
  head.authority = arena.copy("example.org");
  head.fields.add(arena.copy("Referer"), arena.copy("/from"));
  for (int i = 0; i < 9; ++i) head.fields.add(arena.copy("x"), arena.copy(std::string(3000, 'x')));
  head.fields.add(arena.copy("user-agent"), arena.copy("curl"));
  exchange.params.add("name", arena.copy("value"));

  constexpr std::array<std::string_view, 2> names = {"referer", "user-agent"};
  exchange.shrink_head(names);
  EXPECT_EQ(arena.bytes_held(), 256U);
  EXPECT_EQ(head.method_name, "GET");
  EXPECT_EQ(head.target, "/a%20b?c");
  EXPECT_EQ(head.path, "/a b");
  EXPECT_EQ(head.query, "");
  EXPECT_EQ(head.authority, "example.org");
  ASSERT_EQ(head.fields.size(), 2U);
  EXPECT_EQ(head.fields.find("referer"), "/from");
  EXPECT_EQ(head.fields.find("user-agent"), "curl");
  EXPECT_FALSE(exchange.params.find("name").has_value());

  exchange.shrink_head({});
  EXPECT_EQ(head.fields.size(), 0U);
  EXPECT_EQ(head.target, "/a%20b?c");
}

}  // namespace h2server::http
