#include "http/h2/hpack/token.h"

#include <gtest/gtest.h>

#include "http/h2/hpack/lines.h"
#include "http/h2/hpack/static_table.h"

namespace h2server::http::h2::hpack {
namespace token_test {

TEST(Token, KnowsTheNamesOfTheStaticTable) {
  for (std::uint32_t i = 1; i <= static_count; ++i) {
    const StaticEntry& entry = static_table[i];
    EXPECT_EQ(token_of(entry.name), entry.token) << entry.name;
    const std::uint32_t first = static_index_of_name[static_cast<std::size_t>(entry.token)];
    EXPECT_LE(first, i);
    EXPECT_EQ(static_table[first].name, entry.name);
  }
}

TEST(Token, IsExact) {
  struct Row {
    std::string_view name;
    Token token;
  };
  constexpr Row rows[] = {
      {"", Token::none},
      {":", Token::other_pseudo},
      {":protocol", Token::protocol},
      {":Method", Token::other_pseudo},
      {":method ", Token::other_pseudo},
      {":methoe", Token::other_pseudo},
      {"method", Token::none},
      {"te", Token::te},
      {"TE", Token::none},
      {"t", Token::none},
      {"connection", Token::connection},
      {"keep-alive", Token::keep_alive},
      {"proxy-connection", Token::proxy_connection},
      {"upgrade", Token::upgrade},
      {"priority", Token::priority},
      {"transfer-encoding", Token::transfer_encoding},
      {"content-length", Token::content_length},
      {"content-lengtH", Token::none},
      {"cantent-length", Token::none},
      {"x-request-id", Token::none},
  };
  for (const Row& row : rows) EXPECT_EQ(token_of(row.name), row.token) << row.name;
}

TEST(Token, OfNoneIsNotInTheStaticTable) {
  EXPECT_EQ(static_index_of_name[static_cast<std::size_t>(Token::none)], 0);
  EXPECT_EQ(static_index_of_name[static_cast<std::size_t>(Token::protocol)], 0);
  EXPECT_EQ(static_index_of_name[static_cast<std::size_t>(Token::other_pseudo)], 0);
}

}  // namespace token_test
}  // namespace h2server::http::h2::hpack
