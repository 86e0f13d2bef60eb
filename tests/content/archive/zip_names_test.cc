#include "content/archive/zip_names.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

namespace h2server::content {
namespace zip_names_test {

TEST(ZipName, Rows) {
  const std::vector<std::pair<std::string, std::string>> rows = {
      {"a.txt", "a.txt"},
      {"a b", "a b"},
      {".profile", ".profile"},
      {"\u00fc\u4e16\U0001f600", "\u00fc\u4e16\U0001f600"},
      {"a\\b:c*d?e\"f<g>h|i/j", "a_b_c_d_e_f_g_h_i_j"},
      {"a\nb\tc\x7f", "a_b_c_"},
      {std::string("a\x01\x1f", 3), "a__"},
      {"a.", "a_"},
      {"a .. ", "a____"},
      {"...", "___"},
      {" ", "_"},
      {" a", " a"},
      {"\xff.txt", "\ufffd.txt"},
      {"a\xc3", "a\ufffd"},
      {"CON", "_CON"},
      {"con.txt", "_con.txt"},
      {"Nul.tar.gz", "_Nul.tar.gz"},
      {"nul .txt", "_nul .txt"},
      {"aux.", "aux_"},  // no device any more
      {"PRN", "_PRN"},
      {"COM1", "_COM1"},
      {"com9.x", "_com9.x"},
      {"LPT0", "_LPT0"},
      {"COM\u00b9", "_COM\u00b9"},
      {"conin$", "_conin$"},
      {"CONOUT$", "_CONOUT$"},
      {"COM", "COM"},
      {"COM10", "COM10"},
      {"CO", "CO"},
      {"console", "console"},
      {"x.con", "x.con"},
  };
  for (const auto& [name, expected] : rows) EXPECT_EQ(zip_name(name), expected) << name;
}

std::vector<std::string> named(const std::vector<std::string>& names) {
  ZipNames zip_names;
  for (const std::string& name : names) zip_names.expect(name);
  std::vector<std::string> result;
  for (const std::string& name : names) result.push_back(zip_names.next(name));
  return result;
}

TEST(ZipNames, DistinctWithoutCase) {
  using Names = std::vector<std::string>;
  const std::vector<std::pair<Names, Names>> rows = {
      {{"a", "b"}, {"a", "b"}},
      {{"A.txt", "a.TXT", "b"}, {"A.txt", "a (2).TXT", "b"}},
      {{"AA", "Aa", "aA", "aa"}, {"AA", "Aa (2)", "aA (3)", "aa (4)"}},
      {{"A", "B (2)", "a", "a (2)"}, {"A", "B (2)", "a (3)", "a (2)"}},
      {{"A (2)", "A", "a"}, {"A (2)", "A", "a (3)"}},
      {{".A", ".a"}, {".A", ".a (2)"}},
      {{"a:", "a?"}, {"a_", "a_ (2)"}},
      {{"\xfe", "\xff"}, {"\ufffd", "\ufffd (2)"}},
      {{"\u00c4.x", "\u00e4.x"}, {"\u00c4.x", "\u00e4 (2).x"}},
      {{"\u00d7", "\u00f7"}, {"\u00d7", "\u00f7"}},  // signs, not letters
      {{"\u03a9", "\u03c9"}, {"\u03a9", "\u03c9 (2)"}},
      {{"\u0416", "\u0436"}, {"\u0416", "\u0436 (2)"}},
      {{"\u0401", "\u0451"}, {"\u0401", "\u0451 (2)"}},
      // Two of "A" and two of "A (2)", which must not meet.
      {{"A", "A (2)", "a", "a (2)"}, {"A", "A (2)", "a (3)", "a (2) (2)"}},
  };
  for (const auto& [names, expected] : rows) EXPECT_EQ(named(names), expected) << names.front();
}

}  // namespace zip_names_test
}  // namespace h2server::content
