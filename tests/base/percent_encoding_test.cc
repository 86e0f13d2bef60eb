#include "base/percent_encoding.h"

#include <gtest/gtest.h>

#include <string>

#include "base/text.h"

namespace h2server::base {
namespace percent_encoding_test {

std::string encoded(std::string_view text, Slashes slashes) {
  std::string out = ">";
  append_percent_encoded(out, text, slashes);
  EXPECT_EQ(out.front(), '>') << "it appends";
  return out.substr(1);
}

TEST(PercentEncoding, KeepsUnreservedBytes) {
  struct Row {
    std::string text;
    std::string segment;
    std::string path;
  };
  const Row rows[] = {
      {"", "", ""},
      {"plain-1_2~3.txt", "plain-1_2~3.txt", "plain-1_2~3.txt"},
      {"/a//b/", "%2Fa%2F%2Fb%2F", "/a//b/"},
      {"a b?c#d%e&f+g", "a%20b%3Fc%23d%25e%26f%2Bg", "a%20b%3Fc%23d%25e%26f%2Bg"},
      {std::string("\0\n\x7f", 3), "%00%0A%7F", "%00%0A%7F"},
      {"\xc3\xa9\xff", "%C3%A9%FF", "%C3%A9%FF"},
      {"%2F", "%252F", "%252F"},
  };
  for (const Row& row : rows) {
    EXPECT_EQ(encoded(row.text, Slashes::encoded), row.segment);
    EXPECT_EQ(encoded(row.text, Slashes::kept), row.path);
  }
}

TEST(PercentEncoding, OfEachByteIsDecodedToIt) {
  for (int byte = 0; byte < 256; ++byte) {
    const std::string text(1, static_cast<char>(byte));
    const std::string once = encoded(text, Slashes::encoded);
    const bool plain = is_alphanumeric(text[0]) || std::string_view("-._~").contains(text[0]);
    if (plain) EXPECT_EQ(once, text);
    else EXPECT_EQ(decode_percent(once), text[0]) << byte;
    EXPECT_EQ(once.size(), plain ? 1U : 3U) << byte;
  }
}

}  // namespace percent_encoding_test
}  // namespace h2server::base
