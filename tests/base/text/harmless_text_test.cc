#include "base/text/harmless_text.h"

#include <gtest/gtest.h>

#include <array>
#include <utility>
#include <vector>

namespace h2server::base {
namespace harmless_text_test {

TEST(HarmlessText, EscapesWhatReadersDoNotSee) {
  const std::vector<std::pair<std::string, std::string>> rows = {
      {"", ""},
      {"a name.txt", "a name.txt"},
      {"\xc3\xbc \xe6\x97\xa5 \xf0\x9f\x98\x80 \xd7\xa9",
       "\xc3\xbc \xe6\x97\xa5 \xf0\x9f\x98\x80 \xd7\xa9"},
      {"100%", "100%"},
      {"a\x1b[2Jb\n\x7f", "a%1B[2Jb%0A%7F"},
      {"\xc2\x9b"
       "2J\xc2\xa0",
       "%C2%9B2J\xc2\xa0"},
      {"a\xe2\x80\xaegpj.exe", "a%E2%80%AEgpj.exe"},
      {"\xd8\x9c\xe2\x80\x8e\xe2\x80\x8f\xe2\x80\xa8\xe2\x81\xa6\xe2\x81\xa9",
       "%D8%9C%E2%80%8E%E2%80%8F%E2%80%A8%E2%81%A6%E2%81%A9"},
      {"\xe2\x80\x8d\xe2\x80\xa7\xe2\x80\xaf\xe2\x81\xa5\xe2\x81\xaa",
       "\xe2\x80\x8d\xe2\x80\xa7\xe2\x80\xaf\xe2\x81\xa5\xe2\x81\xaa"},
      {"\xff"
       "a\xe2\x80",
       "%FFa%E2%80"},
  };
  for (const auto& [text, shown] : rows) EXPECT_EQ(harmless_text(text), shown);
}

TEST(HarmlessText, IsCutWhereTheRoomEnds) {
  std::array<char, 8> room{};
  EXPECT_EQ(harmless_text("longer than the room", room), "longer than the room");
  EXPECT_EQ(harmless_text("ab\ncd\nef", room), "ab%0Acd");
  EXPECT_EQ(harmless_text("\n\xc3\xbc\xc3\xbc\xc3\xbc", room), "%0A\xc3\xbc\xc3\xbc");
  EXPECT_EQ(harmless_text("\n", std::span<char>()), "");
}

}  // namespace harmless_text_test
}  // namespace h2server::base
