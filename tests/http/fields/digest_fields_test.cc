#include "http/fields/digest_fields.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "base/text/base64.h"

namespace h2server::http {
namespace digest_fields_test {

// The digests of "{\"hello\": \"world\"}\n" (RFC 9530, appendix D).
const std::string sha256 = "RK/0qy18MlBSVnWgjwz6lZEWjP/lF5HF9bvEF8FabDg=";
const std::string sha512 =
    "YMAam51Jz/jOATT6/zvHrLVgOYTGFy1d6GJiOHTohq4yP+pgk4vf2aCsyRZOtw8MjkM7iw7yZ/"
    "WkppmM44T3qg==";
const std::string other256 = "X48E9qOokqqrvdts8nOJRJN3OWDUoyWxBf7kbu9DBPE=";

template <class Value>
std::string text_of(const std::optional<Value>& value) {
  if (!value) return "";
  return base::encode_base64({reinterpret_cast<const char*>(value->data()), value->size()});
}

struct Row {
  std::string field;
  std::string sha256 = "";
  std::string sha512 = "";
  bool other = false;
};

TEST(DigestFields, Values) {
  const std::vector<Row> rows = {
      {"", "", ""},
      {"sha-256=:" + sha256 + ":", sha256},
      {"sha-512=:" + sha512 + ":", "", sha512},
      {"sha-256=:" + sha256 + ":,sha-512=:" + sha512 + ":", sha256, sha512},
      {"sha-512=:" + sha512 + ":, sha-256=:" + sha256 + ":", sha256, sha512},
      {"  sha-256=:" + sha256 + ":\t,\tsha-512=:" + sha512 + ":  ", sha256, sha512},
      // The last value of a key counts (RFC 8941, 4.2.2).
      {"sha-256=:" + other256 + ":, sha-256=:" + sha256 + ":", sha256},
      // Padding may be missing (4.2.7).
      {"sha-256=:" + sha256.substr(0, 43) + ":", sha256},
      {"sha-512=:" + sha512.substr(0, 86) + ":", "", sha512},
      // Parameters do not count.
      {"sha-256=:" + sha256 + ":;a;b=1;*c=\"x\"", sha256},
      {"sha-256=:" + sha256 + ":; a, sha-512=:" + sha512 + ":", sha256, sha512},
      // Other algorithms, and values of any type.
      {"md5=:1B2M2Y8AsgTpgAmY7PhCfg==:", "", "", true},
      {"unixsum=:MzE=:, sha-256=:" + sha256 + ":", sha256, "", true},
      {"a, sha-256=:" + sha256 + ":", sha256, "", true},
      {"a;x=1, sha-256=:" + sha256 + ":", sha256, "", true},
      {"a=1, b=-2.5, c=\"x\\\"\\\\\", d=tok/en:, e=*, f=?1, g=?0, sha-256=:" + sha256 + ":", sha256,
       "", true},
      {"a=(), b=( 1  2 ), c=(\"x\";y \"z\");q=:AA==:, sha-256=:" + sha256 + ":", sha256, "", true},
      {"sha-256x=1, *=1, a_b-c.d*e=999999999999999", "", "", true},
  };
  for (const Row& row : rows) {
    const DigestFields found = parse_digest_field(row.field);
    EXPECT_FALSE(found.malformed) << row.field;
    EXPECT_EQ(text_of(found.sha256), row.sha256) << row.field;
    EXPECT_EQ(text_of(found.sha512), row.sha512) << row.field;
    EXPECT_EQ(found.other, row.other) << row.field;
  }
}

TEST(DigestFields, Malformed) {
  const std::string good = "sha-256=:" + sha256 + ":";
  const std::vector<std::string> rows = {
      // No digest.
      "sha-256",
      "sha-256=",
      "sha-256=1",
      "sha-256=" + sha256,
      "sha-256=\"" + sha256 + "\"",
      "sha-256=:" + sha256,
      "sha-256=::",
      "sha-256=:AA==:",                       // too short
      "sha-256=:" + sha512 + ":",             // too long
      "sha-512=:" + sha256 + ":",             // too short
      "sha-256=:" + sha256 + "=:",            // too much padding
      "sha-256=:" + sha256 + "\n:",           // a line end
      "sha-256=: " + sha256 + ":",            // a space
      "sha-256=:-" + sha256.substr(1) + ":",  // base64url
      "sha-256 =:" + sha256 + ":",
      "sha-256= :" + sha256 + ":",
      "SHA-256=:" + sha256 + ":",  // keys are in lower case
      "?0=1",
      // No dictionary.
      ",",
      good + ",",
      good + ", ",
      "," + good,
      good + ",," + good,
      good + " " + good,
      good + "x",
      good + ";",
      good + ";A",
      good + "; =1",
      good + ";a=",
      good + ";a=;b",
      "\t" + good,
      "1, " + good,
      "(1 2), " + good,
      // Members of other algorithms are read too.
      "a=, " + good,
      "a=\"x, " + good,
      "a=\"x\\y\", " + good,
      "a=\"x\x7f\", " + good,
      "a=\"\xc3\xa4\", " + good,
      "a=?2, " + good,
      "a=-, " + good,
      "a=1., " + good,
      "a=1.1234, " + good,
      "a=1234567890123.1, " + good,
      "a=1234567890123456, " + good,
      "a=:AA=A:, " + good,
      "a=(1, " + good,
      "a=(1\"x\"), " + good,
      "a=(1,2), " + good,
      "a=((1)), " + good,
      "a=@1, " + good,
  };
  for (const std::string& row : rows) {
    const DigestFields found = parse_digest_field(row);
    EXPECT_TRUE(found.malformed) << row;
    EXPECT_FALSE(found.sha256 || found.sha512 || found.other) << row;
  }
}

// Each prefix of a good field is read without going beyond its end.
TEST(DigestFields, Prefixes) {
  const std::string field = "a=(\"x\";y=1.5 tok);z, sha-256=:" + sha256 + ":;p=?1";
  for (std::size_t size = 0; size < field.size(); ++size) {
    const std::vector<char> exact(field.begin(), field.begin() + static_cast<std::ptrdiff_t>(size));
    const DigestFields found = parse_digest_field({exact.data(), exact.size()});
    EXPECT_EQ(found.sha256.has_value(), size >= field.find(":;p") + 1 && !found.malformed) << size;
  }
}

TEST(DigestFields, LinesOfAField) {
  const std::string one = "sha-256=:" + sha256 + ":";
  const std::string two = "sha-512=:" + sha512 + ":";
  Fields fields;
  EXPECT_FALSE(find_digest_field(fields, "repr-digest"));
  fields.add("repr-digest", one);
  fields.add("content-digest", "x=");
  fields.add("Repr-Digest", two);
  const std::optional<DigestFields> found = find_digest_field(fields, "repr-digest");
  ASSERT_TRUE(found);
  EXPECT_EQ(text_of(found->sha256), sha256);
  EXPECT_EQ(text_of(found->sha512), sha512);
  ASSERT_TRUE(find_digest_field(fields, "content-digest"));
  EXPECT_TRUE(find_digest_field(fields, "content-digest")->malformed);
}

TEST(DigestFields, WhatIsWrittenIsRead) {
  Sha256Value value{};
  std::ranges::generate(value, [next = 0]() mutable { return static_cast<unsigned char>(next++); });
  const std::string field = digest_field(value);
  EXPECT_EQ(field, "sha-256=:AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=:");
  EXPECT_EQ(parse_digest_field(field).sha256, value);
}

}  // namespace digest_fields_test
}  // namespace h2server::http
