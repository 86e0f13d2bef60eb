#include "observe/line_text.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "base/text/utf8.h"

namespace h2server::observe {
namespace line_text_test {

// Writes into memory of exactly the promised size, so that the address sanitizer sees more.
template <Escape escape>
std::string escaped(const std::string& text, std::size_t size_max = 4096) {
  std::vector<char> room(escaped_bytes_max(text.size(), size_max));
  const std::vector<char> exact(text.begin(), text.end());  // no byte behind the text
  const char* const end =
      put_escaped<escape>(room.data(), std::string_view(exact.data(), exact.size()), size_max);
  return {room.data(), static_cast<std::size_t>(end - room.data())};
}

std::string json(const std::string& text, std::size_t size_max = 4096) {
  return escaped<Escape::json>(text, size_max);
}
std::string text(const std::string& bytes, std::size_t size_max = 4096) {
  return escaped<Escape::text>(bytes, size_max);
}
std::string token(const std::string& bytes) { return escaped<Escape::token>(bytes); }

TEST(LineText, EscapesOfEachByte) {
  for (int byte = 0; byte < 256; ++byte) {
    const std::string one(1, static_cast<char>(byte));
    const bool plain = byte >= 0x20 && byte < 0x7f && byte != '"' && byte != '\\';
    const std::string hex = fmt::format("{:02x}", byte);
    EXPECT_EQ(text(one), plain ? one : "\\x" + hex);
    EXPECT_EQ(token(one), plain && byte != ' ' ? one : "\\x" + hex);
    const std::string expected = plain                         ? one
                                 : byte == '"' || byte == '\\' ? "\\" + one
                                 : byte < 0x80                 ? "\\u00" + hex
                                                               : "\xef\xbf\xbd";
    EXPECT_EQ(json(one), expected) << byte;
  }
}

// The copy goes by 4, 8 and 16 bytes: each special byte at each place of each size.
TEST(LineText, FindsSpecialBytesAnywhere) {
  for (std::size_t size = 1; size <= 50; ++size) {
    EXPECT_EQ(json(std::string(size, 'a')), std::string(size, 'a'));
    for (std::size_t at = 0; at < size; ++at) {
      for (const char special : {'\0', '\x1f', '"', '\\', '\x7f', '\x80', '\xff'}) {
        std::string bytes(size, '~');
        bytes[at] = special;
        const std::string before(at, '~');
        const std::string after(size - at - 1, '~');
        EXPECT_EQ(text(bytes), before + text(std::string(1, special)) + after);
        EXPECT_EQ(json(bytes), before + json(std::string(1, special)) + after);
      }
      std::string bytes(size, '!');
      bytes[at] = ' ';
      EXPECT_EQ(text(bytes), bytes);
      EXPECT_EQ(token(bytes), std::string(at, '!') + "\\x20" + std::string(size - at - 1, '!'));
    }
  }
}

TEST(LineText, JsonKeepsUtf8AndReplacesTheRest) {
  struct Row {
    std::string bytes;
    std::string expected;
  };
  for (const Row& row : std::vector<Row>{
           {"", ""},
           {"gr\xc3\xbc\xc3\x9f", "gr\xc3\xbc\xc3\x9f"},
           {"\xe2\x82\xac\xf0\x9f\x98\x80", "\xe2\x82\xac\xf0\x9f\x98\x80"},
           {"\xc3", "\xef\xbf\xbd"},
           {"\xe2\x82", "\xef\xbf\xbd"},
           {"\xe2\x82\"", "\xef\xbf\xbd\\\""},
           {"\xc0\xaf", "\xef\xbf\xbd\xef\xbf\xbd"},
           {"\xed\xa0\x80", "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd"},
           {"\xc2\x9b[31m", "\\u009b[31m"},  // a terminal's escape sequence
           {"a\xe2\x80\xae"
            "fdp.exe",
            "a\\u202efdp.exe"},  // shown as "aexe.pdf"
           {"\xc2\xa0", "\xc2\xa0"},
           {"a\r\nb", "a\\u000d\\u000ab"},
       }) {
    EXPECT_EQ(json(row.bytes), row.expected);
    EXPECT_EQ(base::to_valid_utf8(json(row.bytes)), json(row.bytes));
  }
}

TEST(LineText, CutsLongTexts) {
  struct Row {
    std::string bytes;
    std::size_t size_max;
    std::string json;
    std::string text;
  };
  for (const Row& row : std::vector<Row>{
           {"abcdef", 6, "abcdef", "abcdef"},
           {"abcdefg", 6, "abcdef…", "abcdef..."},
           {"abcde\xc3\xbc", 6, "abcde…", "abcde\\xc3..."},
           {"abcd\xe2\x82\xac", 6, "abcd…", "abcd\\xe2\\x82..."},
           {"abc\xf0\x9f\x98\x80z", 6, "abc…", "abc\\xf0\\x9f\\x98..."},
           {"abc\xf0\x9f\x98\x80z", 7, "abc\xf0\x9f\x98\x80…", "abc\\xf0\\x9f\\x98\\x80..."},
           // Not UTF-8: at most three bytes more are left out.
           {"\x80\x80\x80\x80\x80\x80\x80", 6, "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd…",
            "\\x80\\x80\\x80\\x80\\x80\\x80..."},
           {"a", 0, "…", "..."},
       }) {
    EXPECT_EQ(json(row.bytes, row.size_max), row.json);
    EXPECT_EQ(text(row.bytes, row.size_max), row.text);
  }
}

// All bytes are as expensive as can be; escaped() has no more room than is promised.
TEST(LineText, StaysWithinItsBounds) {
  for (std::size_t size = 0; size < 200; ++size) {
    for (const char byte : {'\x01', '\x80', 'a'}) {
      for (const std::size_t size_max : {0U, 1U, 17U, 100U}) {
        const std::string bytes(size, byte);
        const std::size_t bound = escaped_bytes_max(size, size_max);
        EXPECT_LE(json(bytes, size_max).size() + 16, bound);
        EXPECT_LE(text(bytes, size_max).size() + 16, bound);
      }
    }
  }
}

TEST(LineText, Numbers) {
  char room[decimal_bytes_max + 8];
  const auto decimal = [&room](std::uint64_t value) {
    return std::string(room, put_decimal(room, value));
  };
  for (std::uint64_t value = 0; value < 20'000; ++value) {
    ASSERT_EQ(decimal(value), std::to_string(value));
  }
  for (std::uint64_t value = 1; value < UINT64_MAX / 10; value *= 10) {
    EXPECT_EQ(decimal(value - 1), std::to_string(value - 1));
    EXPECT_EQ(decimal(value), std::to_string(value));
  }
  EXPECT_EQ(decimal(UINT64_MAX), "18446744073709551615");
  const auto seconds = [&room](std::int64_t us) {
    return std::string(room, put_seconds(room, us));
  };
  EXPECT_EQ(seconds(-1), "0.000000");
  EXPECT_EQ(seconds(0), "0.000000");
  EXPECT_EQ(seconds(57), "0.000057");
  EXPECT_EQ(seconds(999'999), "0.999999");
  EXPECT_EQ(seconds(1'000'000), "1.000000");
  EXPECT_EQ(seconds(86'400'012'345), "86400.012345");
  EXPECT_EQ(seconds(INT64_MAX), "9223372036854.775807");
}

}  // namespace line_text_test
}  // namespace h2server::observe
