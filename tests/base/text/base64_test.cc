#include "base/text/base64.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace h2server::base {
namespace base64_test {

using namespace std::string_literals;

TEST(Base64, BothWays) {
  const std::vector<std::pair<std::string, std::string>> rows = {
      // RFC 4648, 10.
      {"", ""},
      {"f", "Zg=="},
      {"fo", "Zm8="},
      {"foo", "Zm9v"},
      {"foob", "Zm9vYg=="},
      {"fooba", "Zm9vYmE="},
      {"foobar", "Zm9vYmFy"},
      {"\0"s, "AA=="},
      {"\xff\xff\xff", "////"},
      {"\xfb\xef\xbe", "++++"},
      {"\x14\xfb\x9c\x03\xd9\x7e", "FPucA9l+"},
  };
  for (const auto& [bytes, text] : rows) {
    EXPECT_EQ(encode_base64(bytes), text);
    EXPECT_EQ(decode_base64(text), bytes) << text;
  }
}

TEST(Base64, EveryByteInEveryPlace) {
  for (int byte = 0; byte < 256; ++byte) {
    for (const std::size_t before : {0, 1, 2}) {
      const std::string bytes = std::string(before, 'x') + static_cast<char>(byte);
      EXPECT_EQ(decode_base64(encode_base64(bytes)), bytes) << byte;
    }
  }
}

TEST(Base64, RefusesEverythingElse) {
  const std::vector<std::string> rows = {
      "Z",        "Zg",   "Zg=",    "Zm8",   "Zm9vY",    // padding is missing
      "=",        "==",   "===",    "====",  "Z===",     // nothing but padding, too much
      "Zg==Zg==", "Zg=a", "Z=g=",   "=Zg=",              // padding inside
      "Zh==",     "Zm9=", "Zm8=\n",                      // bits that don't count; a line end
      "Zm-v",     "Zm_v", "Zm v",   "Zm9v ", "Zm\x80v",  // other characters
      "Zm\0v"s,
  };
  for (const std::string& text : rows) {
    EXPECT_EQ(decode_base64(text), std::nullopt) << testing::PrintToString(text);
  }
}

}  // namespace base64_test
}  // namespace h2server::base
