#include "app/top/top_text.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace h2server::app {
namespace top_text_test {

TEST(TopText, Words) {
  EXPECT_EQ(number_text(1'234'567), "1,234,567");
  EXPECT_EQ(number_text(std::nullopt), "-");
  EXPECT_EQ(size_text(1023), "1023 B");
  EXPECT_EQ(size_text(1536), "1.5 KiB");
  EXPECT_EQ(size_text(std::nullopt), "-");
  const std::vector<std::pair<Number, std::string_view>> ages = {
      {std::nullopt, "-"}, {0, "0 s"},          {59, "59 s"},        {60, "1 min 0 s"},
      {600, "10 min"},     {3599, "59 min"},    {3600, "1 h 0 min"}, {86'399, "23 h 59 min"},
      {86'400, "1 d 0 h"}, {90'000, "1 d 1 h"},
  };
  for (const auto& [seconds, text] : ages) EXPECT_EQ(age_text(seconds), text);
}

TEST(TopText, Buckets) {
  const std::vector<std::uint64_t> bounds = {100, 2500, 1'000'000};
  EXPECT_EQ(bucket_text(bounds, 0), "100 µs");
  EXPECT_EQ(bucket_text(bounds, 1), "2.5 ms");
  EXPECT_EQ(bucket_text(bounds, 2), "1 s");
  EXPECT_EQ(bucket_text(bounds, 3), "> 1 s");
  EXPECT_EQ(bucket_text({}, 0), "-");
}

// No byte that a terminal obeys, or shows in any other width than one, is left.
TEST(TopText, HarmlessTexts) {
  const std::vector<std::pair<std::string, std::string_view>> rows = {
      {"/a b~", "/a b~"},
      {"\x1b[31m", "%1B[31m"},
      {"a\r\n\tb", "a%0D%0A%09b"},
      {"\x7f", "%7F"},
      {"\xc2\x9b"
       "A",
       "%C2%9BA"},                    // CSI as a character of its own
      {"\xe2\x80\xae", "%E2%80%AE"},  // writes from right to left
      {std::string(1, '\0'), "%00"},
      {"", ""},
  };
  for (const auto& [text, expected] : rows) EXPECT_EQ(harmless(text), expected);
  for (int c = 0; c < 256; ++c) {
    for (const char shown : harmless(std::string(1, static_cast<char>(c)))) {
      EXPECT_TRUE(shown >= ' ' && shown <= '~') << c;
    }
  }
}

TEST(TopText, Columns) {
  EXPECT_EQ(columns_of("a█µ"), 3u);
  struct Row {
    std::string_view text;
    std::size_t columns;
    std::string_view left;
    std::string_view right;
  };
  const std::vector<Row> rows = {
      {"abc", 5, "abc  ", "  abc"}, {"abc", 3, "abc", "abc"}, {"abcdef", 5, "abc..", "abc.."},
      {"abcd", 2, "ab", "ab"},      {"abcd", 0, "", ""},      {"1 µs", 5, "1 µs ", " 1 µs"},
      {"µµµµµ", 4, "µµ..", "µµ.."},
  };
  for (const Row& row : rows) {
    EXPECT_EQ(left(row.text, row.columns), row.left);
    EXPECT_EQ(right(row.text, row.columns), row.right);
  }
}

TEST(TopText, Bars) {
  struct Row {
    std::uint64_t value;
    std::uint64_t most;
    std::size_t columns;
    std::string_view bar;
  };
  const std::vector<Row> rows = {
      {0, 10, 4, ""},   {10, 10, 4, "████"}, {5, 10, 4, "██"}, {1, 1000, 4, "▏"},
      {9, 16, 2, "█▏"}, {20, 10, 2, "██"},   {1, 0, 4, ""},    {1, 1, 0, ""},
  };
  for (const Row& row : rows) {
    if (row.columns == 0) continue;
    EXPECT_EQ(bar(row.value, row.most, row.columns), row.bar) << row.value << " of " << row.most;
  }
}

TEST(TopText, Sparklines) {
  using Lines = std::vector<std::string>;
  const std::vector<Number> values = {0, 1, 4, 8, std::nullopt, 16};
  EXPECT_EQ(sparkline(values, 6, 1), (Lines{"▁▁▂▄ █"}));
  EXPECT_EQ(sparkline(values, 6, 2), (Lines{"     █", "▁▁▄█ █"}));
  EXPECT_EQ(sparkline(values, 8, 1), (Lines{"  ▁▁▂▄ █"})) << "the newest stands at the right edge";
  EXPECT_EQ(sparkline(values, 2, 1), (Lines{" █"}));
  EXPECT_EQ(sparkline({}, 3, 2), (Lines{"   ", "   "}));
  const std::vector<Number> zeros = {0, 0};
  EXPECT_EQ(sparkline(zeros, 2, 1), (Lines{"▁▁"}));
}

TEST(TopText, Shades) {
  EXPECT_EQ(shade(0, 1000), " ");
  EXPECT_EQ(shade(1, 1000), "░");
  EXPECT_EQ(shade(1000, 1000), "█");
  EXPECT_EQ(shade(1, 1), "█");
}

}  // namespace top_text_test
}  // namespace h2server::app
