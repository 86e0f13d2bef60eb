// How deep a TOML text may go.
#include "config/toml_limits.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>

namespace h2server::config {
namespace toml_limits_test {

std::string times(std::size_t count, std::string_view text) {
  std::string result;
  for (std::size_t i = 0; i < count; ++i) result += text;
  return result;
}

// Has nothing to say if `line` is 0.
struct Case {
  std::string text;
  std::uint32_t line;
};

TEST(TomlLimits, CountDotsAndBrackets) {
  const std::string dots = times(key_dots_max, ".a");
  const std::string open = times(nesting_max, "[");
  const Case cases[] = {
      {"", 0},
      {"a = 1", 0},
      {"a" + dots + " = 1\n", 0},
      {"\na" + dots + ".a = 1\n", 2},
      {"a" + dots + " = 1.5\nb" + dots + " = 1.5", 0},
      {"[a" + dots + "]\na" + dots + " = 1", 0},
      {"[a" + dots + ".a]", 1},
      {"[[a" + dots + "]]\n[[a" + dots + ".a]]", 2},
      {"'a'." + times(key_dots_max, "\"b\" . ") + "c = 1", 1},
      {"a = {b" + dots + " = 1, c" + dots + " = 1}", 0},
      {"a = {b = 1, c" + dots + ".a = 1}", 1},
      {"a = [" + times(100, "1.5, ") + "]", 0},
      {"a = [\n" + times(100, "1.5,\n") + "]", 0},
      {"a = " + open, 0},
      {"a = " + open + "\n[", 2},
      {times(100, "a = [[], {}]\n") + "[[b]]", 0},
      {"a = " + times(nesting_max + 1, "{b = "), 1},
      // Not in comments and strings.
      {"# a" + dots + ".a" + open + "[\nb = 1", 0},
      {"a = \"" + dots + open + "\\\"" + dots + open + "\"", 0},
      {"a = '" + dots + open + "\\'", 0},
      {"a = \"\"\"\n\\\"" + dots + dots + "\"\"" + open + open + "\n\"\"\"", 0},
      {"a = '''" + dots + dots + "''\n\\" + open + open + "'''", 0},
      {"a = \"\" # \"\n" + open + "[", 2},
      {"\"a#\"" + dots + ".a = 1", 1},
      // What follows them counts, wherever they end.
      {"a = \"x\"\nb" + dots + ".a = 1", 2},
      {"a = 'x\\'\nb" + dots + ".a = 1", 2},
      {"a = \"\"\"x\n\\\ny\"\"\"\nb" + dots + ".a = 1", 4},
      {"a = \"\"\"\"\"\"\nb" + dots + ".a = 1", 2},
      {"a = \"\"\"x\"\"\"\"\nb" + dots + ".a = 1", 2},
      {"a = \"\"\"x\"\"\"\"\"\nb" + dots + ".a = 1", 2},
      {"a = '''x'''''\nb" + dots + ".a = 1", 2},
      {"a = [\"\"\"x\"\"\"\"\", " + open, 1},
      // No TOML: a parser stops at the end of the first line.
      {"a = \"x\nb" + dots + ".a = 1", 2},
      {"a = \"x\\\nb" + dots + ".a = 1", 2},
      {"a = ]]}}" + open, 0},
  };
  for (const Case& one : cases) {
    const auto excess = find_excess(one.text);
    EXPECT_EQ(excess ? excess->line : 0U, one.line) << one.text;
  }
}

// Without the limits, each of these overflows the stack.
TEST(TomlLimits, AreCheckedFirst) {
  constexpr std::size_t count = 200'000;
  for (const std::string& text :
       {"x = 1\na" + times(count, ".a") + " = 1", "x = 1\n[a" + times(count, ".a") + "]",
        "x = 1\na = " + times(count, "[") + times(count, "]"),
        "x = 1\na = " + times(count, "{a = ") + times(count, "}")}) {
    const TomlText parsed = parse_toml(text);
    ASSERT_EQ(parsed.problems.size(), 1U);
    EXPECT_EQ(parsed.problems[0].line, 2U);
    EXPECT_TRUE(parsed.top.entries.empty());
  }
}

}  // namespace toml_limits_test
}  // namespace h2server::config
