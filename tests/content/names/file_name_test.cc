#include "content/names/file_name.h"

#include <gtest/gtest.h>

#include <random>
#include <string>
#include <utility>
#include <vector>

namespace h2server::content {
namespace file_name_test {

using namespace std::string_literals;

TEST(FileName, Table) {
  const std::vector<std::pair<std::string, std::string>> rows = {
      {"a.txt", "a.txt"},
      {"/etc/passwd", "passwd"},
      {"../../a.txt", "a.txt"},
      {"C:\\dir\\a.txt", "a.txt"},
      {"/a\\b/c\\d", "d"},
      {"..\\..", ""},
      {"a/", ""},
      {"", ""},
      {".", ""},
      {"..", ""},
      {" . . ", ""},
      {".htaccess", "htaccess"},
      {"  .. a b . ", "a b"},
      {"a..b", "a..b"},
      {"a\0b\r\n\x1f\x7f.txt"s, "ab.txt"},
      {"\0"s, ""},
      {".\0."s, ""},
      {"\x01..a", "a"},
      {"h2_tmp_", ""},
      {"h2_tmp_1", ""},
      {"dir/.h2_tmp_1", ""},
      {"h2\x01_tmp_1", ""},
      {"h2_tmp", "h2_tmp"},
      {"H2_TMP_1", "H2_TMP_1"},
      {"x h2_tmp_1", "x h2_tmp_1"},
      {"\xc3\xa9t\xc3\xa9.txt", "\xc3\xa9t\xc3\xa9.txt"},
      {"\xe2\x82\xac\xf0\x9f\x98\x80", "\xe2\x82\xac\xf0\x9f\x98\x80"},
      {"\xef\xbf\xbf\xf4\x8f\xbf\xbf\xed\x9f\xbf", "\xef\xbf\xbf\xf4\x8f\xbf\xbf\xed\x9f\xbf"},
      {"a\xff.txt", "a_.txt"},
      {"\x80", "_"},
      {"\xc0\xaf", "__"},            // an overlong slash
      {"\xe0\x80\xaf", "___"},       // overlong, three bytes
      {"\xf0\x80\x80\xaf", "____"},  // overlong, four bytes
      {"\xed\xa0\x80", "___"},       // a surrogate
      {"\xf4\x90\x80\x80", "____"},  // above U+10FFFF
      {"\xf5\x80\x80\x80", "____"},
      {"\xe2\x82", "__"},  // truncated
      {"\xe2\x82x", "__x"},
      {"\xf0\x9f\x98", "___"},
      {"\xc3\x01\xa9", "__"},  // removing a control character forms no character
  };
  for (const auto& [claimed, expected] : rows) {
    EXPECT_EQ(safe_file_name(claimed).value_or(""), expected) << claimed;
  }
}

std::string repeated(const std::string& text, std::size_t times) {
  std::string all;
  while (times-- > 0) all += text;
  return all;
}

TEST(FileName, LongNamesKeepTheirExtension) {
  const std::string a251(251, 'a');
  EXPECT_EQ(safe_file_name(a251 + ".txt"), a251 + ".txt");
  EXPECT_EQ(safe_file_name(a251 + "a.txt"), a251 + ".txt");
  EXPECT_EQ(safe_file_name(std::string(5000, 'a')), std::string(255, 'a'));
  EXPECT_EQ(safe_file_name(std::string(254, 'a') + " b"), std::string(254, 'a'));
  EXPECT_EQ(safe_file_name("a." + std::string(253, 'b')), "a." + std::string(253, 'b'));
  EXPECT_EQ(safe_file_name("aa." + std::string(253, 'b')), "a." + std::string(253, 'b'));
  EXPECT_EQ(safe_file_name("a." + std::string(254, 'b')), std::nullopt);
  EXPECT_EQ(safe_file_name("\xc3\xa9." + std::string(253, 'b')), std::nullopt);
}

TEST(FileName, LongNamesAreCutBetweenCharacters) {
  const std::string euro = "\xe2\x82\xac";
  EXPECT_EQ(safe_file_name(repeated(euro, 100)), repeated(euro, 85));
  EXPECT_EQ(safe_file_name("a" + repeated(euro, 100)), "a" + repeated(euro, 84));
  EXPECT_EQ(safe_file_name(repeated(euro, 100) + ".txt"), repeated(euro, 83) + ".txt");
}

TEST(FileName, RandomBytesMakeSafeNames) {
  std::mt19937 random(7);
  const std::string alphabet = "ab./\\ \x01\x7f\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80\xff_"s + '\0';
  for (int round = 0; round < 20'000; ++round) {
    std::string claimed;
    for (std::size_t size = random() % 600; size > 0; --size) {
      claimed +=
          random() % 8 == 0 ? static_cast<char>(random()) : alphabet[random() % alphabet.size()];
    }
    const auto name = safe_file_name(claimed);
    if (!name) continue;
    ASSERT_FALSE(name->empty());
    ASSERT_LE(name->size(), file_name_bytes_max);
    ASSERT_EQ(name->find_first_of("/\\\x7f\x01\0"s), std::string::npos);
    ASSERT_NE(name->front(), '.');
    ASSERT_NE(name->back(), '.');
    ASSERT_EQ(safe_file_name(*name), name) << "not a fixed point";
  }
}

}  // namespace file_name_test
}  // namespace h2server::content
