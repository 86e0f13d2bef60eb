#include "content/names/markup.h"

#include <gtest/gtest.h>

#include "content/names/attachment.h"

namespace h2server::content {
namespace markup_test {

template <class Append, class Value>
std::string made(Append append, const Value& value) {
  std::string out = ">";
  append(out, value);
  return out.substr(1);
}

TEST(Markup, Html) {
  EXPECT_EQ(made(append_html, ""), "");
  EXPECT_EQ(made(append_html, "plain"), "plain");
  EXPECT_EQ(made(append_html, "<a href=\"x\">&amp;'"), "&lt;a href=&quot;x&quot;&gt;&amp;amp;'");
}

TEST(Markup, Segments) {
  EXPECT_EQ(made(append_segment, "plain-1_2~3.txt"), "plain-1_2~3.txt");
  EXPECT_EQ(made(append_segment, "a b/c?d#e%f:\"<\\"), "a%20b%2Fc%3Fd%23e%25f%3A%22%3C%5C");
  EXPECT_EQ(made(append_segment, "\xc3\xa9\xff"), "%C3%A9%FF");
}

TEST(Markup, Sizes) {
  const std::vector<std::pair<std::uint64_t, std::string>> rows = {
      {0, "0 B"},
      {1, "1 B"},
      {1023, "1023 B"},
      {1024, "1.0 KiB"},
      {1536, "1.5 KiB"},
      {2047, "1.9 KiB"},
      {(1U << 20) - 1, "1023.9 KiB"},
      {1U << 20, "1.0 MiB"},
      {std::uint64_t{5} << 30, "5.0 GiB"},
      {std::uint64_t{3} << 40, "3.0 TiB"},
      {std::uint64_t{7} << 50, "7.0 PiB"},
      {~std::uint64_t{0}, "16383.9 PiB"},
  };
  for (const auto& [bytes, text] : rows) EXPECT_EQ(made(append_size, bytes), text);
}

TEST(Markup, Times) {
  const std::vector<std::pair<std::int64_t, std::string>> rows = {
      {0, "1970-01-01T00:00:00Z"},
      {-1, "1969-12-31T23:59:59Z"},
      {784111777, "1994-11-06T08:49:37Z"},
      {951827696, "2000-02-29T12:34:56Z"},
      {253402300799, "9999-12-31T23:59:59Z"},
      {INT64_MAX, "9999-12-31T23:59:59Z"},
      {INT64_MIN, "0000-01-01T00:00:00Z"},
  };
  for (const auto& [time, text] : rows) EXPECT_EQ(made(append_time, time), text);
}

// RFC 6266, 5 has the same forms.
TEST(Attachment, Names) {
  const std::vector<std::pair<std::string, std::string>> rows = {
      {"example.html", "attachment; filename=\"example.html\""},
      {"a b;c.txt", "attachment; filename=\"a b;c.txt\""},
      {"\xe2\x82\xac rates",
       "attachment; filename=\"___ rates\"; filename*=UTF-8''%E2%82%AC%20rates"},
      {"a\"b\\c%d", "attachment; filename=\"a_b_c_d\"; filename*=UTF-8''a%22b%5Cc%25d"},
      {"a\r\nX: y", "attachment; filename=\"a__X: y\"; filename*=UTF-8''a%0D%0AX%3A%20y"},
      {"\xff", "attachment; filename=\"_\"; filename*=UTF-8''%EF%BF%BD"},
      // The names of RFC 6266, 5 and of RFC 8187, 3.2.3.
      {"an example", "attachment; filename=\"an example\""},
      {"\xc2\xa3 rates", "attachment; filename=\"__ rates\"; filename*=UTF-8''%C2%A3%20rates"},
      {"\xc2\xa3 and \xe2\x82\xac rates", "attachment; filename=\"__ and ___ rates\"; "
                                          "filename*=UTF-8''%C2%A3%20and%20%E2%82%AC%20rates"},
      // What a quoted-string may hold as it is stays as it is (RFC 9110, 5.6.4).
      {"", "attachment; filename=\"\""},
      {"it's (1), a=b; [c] <d> @e?", "attachment; filename=\"it's (1), a=b; [c] <d> @e?\""},
      // RFC 8187, 3.2.1: of attr-char, only what is unreserved in a URI stays.
      {"'*(\xc3\xa9)!#$&+^`|~-._",
       "attachment; filename=\"'*(__)!#$&+^`|~-._\"; "
       "filename*=UTF-8''%27%2A%28%C3%A9%29%21%23%24%26%2B%5E%60%7C~-._"},
      {"50%41", "attachment; filename=\"50_41\"; filename*=UTF-8''50%2541"},
      {"\"; filename=\"x", "attachment; filename=\"_; filename=_x\"; "
                           "filename*=UTF-8''%22%3B%20filename%3D%22x"},
      {"a\\", "attachment; filename=\"a_\"; filename*=UTF-8''a%5C"},
      {"\t\x7f", "attachment; filename=\"__\"; filename*=UTF-8''%09%7F"},
      // Not UTF-8: Latin-1, half a character, an overlong slash.
      {"\xa3 rates", "attachment; filename=\"_ rates\"; filename*=UTF-8''%EF%BF%BD%20rates"},
      {"\xe2\x82.txt", "attachment; filename=\"__.txt\"; filename*=UTF-8''%EF%BF%BD.txt"},
      {"\xc0\xaf", "attachment; filename=\"__\"; filename*=UTF-8''%EF%BF%BD%EF%BF%BD"},
      {std::string(255, 'n'), "attachment; filename=\"" + std::string(255, 'n') + "\""},
  };
  for (const auto& [name, field] : rows) EXPECT_EQ(attachment(name), field);
}

}  // namespace markup_test
}  // namespace h2server::content
