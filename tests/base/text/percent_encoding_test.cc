#include "base/text/percent_encoding.h"

#include <gtest/gtest.h>

#include <string>

#include "base/text/text.h"

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

TEST(PercentEncoding, MakesUriReferences) {
  struct Row {
    std::string text;
    std::string reference;
  };
  const Row rows[] = {
      {"", ""},
      {"/a?b#c", "/a?b#c"},
      {"/-._~!$&'()*+,;=:@/?/?", "/-._~!$&'()*+,;=:@/?/?"},
      {"/%41%zz%4", "/%41%25zz%254"},
      {"/\"<>\\^`{|}", "/%22%3C%3E%5C%5E%60%7B%7C%7D"},
      {std::string("/ \r\n\0\x7f", 6), "/%20%0D%0A%00%7F"},
      {"/\xc3\xa9\xff", "/%C3%A9%FF"},
      {"/a#b#c#", "/a#b%23c%23"},
      {"https://[::1]:8080/[x]?[y]", "https://[::1]:8080/%5Bx%5D?%5By%5D"},
      {"//[::1]?[", "//[::1]?%5B"},
      {"//[::1]", "//[::1]"},
      {"/a//[b]", "/a//%5Bb%5D"},
      {"?a://[b]", "?a://%5Bb%5D"},
      {"a//[b]", "a//%5Bb%5D"},
  };
  for (const Row& row : rows) {
    std::string out = ">";
    append_uri_reference(out, row.text);
    EXPECT_EQ(out, ">" + row.reference);
    std::string again;
    append_uri_reference(again, row.reference);
    EXPECT_EQ(again, row.reference) << "nothing is left to encode";
  }
}

}  // namespace percent_encoding_test
}  // namespace h2server::base
