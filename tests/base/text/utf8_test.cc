#include "base/text/utf8.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace h2server::base {
namespace utf8_test {

using namespace std::string_literals;

const std::string replaced = "\xef\xbf\xbd";

// Each row is one unit, whatever follows it.
TEST(Utf8, FirstUnit) {
  struct Row {
    std::string text;
    std::size_t size;
    bool valid;
  };
  const std::vector<Row> rows = {
      {"\0"s, 1, true},
      {"a", 1, true},
      {"\x7f", 1, true},
      {"\x80", 1, false},
      {"\xbf", 1, false},
      {"\xc0\x80", 1, false},  // overlong
      {"\xc1\xbf", 1, false},
      {"\xc2\x80", 2, true},
      {"\xdf\xbf", 2, true},
      {"\xc2", 1, false},
      {"\xc2\x7f", 1, false},
      {"\xc2\xc0", 1, false},
      {"\xe0\x9f\xbf", 1, false},  // overlong
      {"\xe0\xa0\x80", 3, true},
      {"\xe0\xa0", 2, false},
      {"\xe0\xa0\xc0", 2, false},
      {"\xe1\x80\x80", 3, true},
      {"\xed\x9f\xbf", 3, true},
      {"\xed\xa0\x80", 1, false},  // a surrogate
      {"\xee\x80\x80", 3, true},
      {"\xef\xbf\xbf", 3, true},
      {"\xf0\x8f\xbf\xbf", 1, false},  // overlong
      {"\xf0\x90\x80\x80", 4, true},
      {"\xf0\x90\x80", 3, false},
      {"\xf0\x90", 2, false},
      {"\xf0", 1, false},
      {"\xf1\x80\x80\x80", 4, true},
      {"\xf4\x8f\xbf\xbf", 4, true},
      {"\xf4\x90\x80\x80", 1, false},  // above U+10FFFF
      {"\xf5\x80\x80\x80", 1, false},
      {"\xff", 1, false},
  };
  for (const Row& row : rows) {
    for (const char* const rest : {"", "a", "\xc2\x80", "\xff"}) {
      const std::string text = row.text + rest;
      SCOPED_TRACE(testing::PrintToString(text));
      EXPECT_EQ(first_utf8_unit(text).size, row.size);
      EXPECT_EQ(first_utf8_unit(text).valid, row.valid);
    }
  }
}

TEST(Utf8, Replacement) {
  const std::vector<std::pair<std::string, std::string>> rows = {
      {"", ""},
      {"a\0b"s, "a\0b"s},
      {"caf\xc3\xa9 \xf0\x9f\x98\x80", "caf\xc3\xa9 \xf0\x9f\x98\x80"},
      {"\xff", replaced},
      {"a\xff\xfe"s + "b", "a" + replaced + replaced + "b"},
      // Unicode 16, table 3-8: one U+FFFD for each maximal subpart.
      {"a\xf1\x80\x80\xe1\x80\xc2"s + "b\x80"s + "c\x80\xbf"s + "d",
       "a" + replaced + replaced + replaced + "b" + replaced + "c" + replaced + replaced + "d"},
      {"\xed\xa0\x80", replaced + replaced + replaced},
  };
  for (const auto& [text, expected] : rows) {
    EXPECT_EQ(to_valid_utf8(text), expected) << testing::PrintToString(text);
    EXPECT_EQ(to_valid_utf8(expected), expected);
  }
}

}  // namespace utf8_test
}  // namespace h2server::base
