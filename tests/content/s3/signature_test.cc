// The examples are those of Amazon's S3 API reference, "Authorization Header".
#include "content/s3/signature.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "content/s3/payload.h"

namespace h2server::content::s3 {
namespace signature_test {

constexpr std::chrono::sys_seconds midnight = std::chrono::sys_days(std::chrono::May / 24 / 2013);
const Credentials example{.key_id = "AKIAIOSFODNN7EXAMPLE",
                          .secret = "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY"};
const std::string no_body = "x-amz-content-sha256: " + std::string(no_body_sha256);

std::string authorization(std::string_view method, std::string_view url,
                          std::vector<std::string> fields,
                          const Credentials& credentials = example) {
  return sign({.method = method, .url = url, .fields = fields, .region = "us-east-1"}, credentials,
              midnight)
      .back();
}

std::string expected(std::string_view names, std::string_view signature) {
  return "Authorization: AWS4-HMAC-SHA256 "
         "Credential=AKIAIOSFODNN7EXAMPLE/20130524/us-east-1/s3/aws4_request, SignedHeaders=" +
         std::string(names) + ", Signature=" + std::string(signature);
}

TEST(Signature, ExamplesOfTheReference) {
  EXPECT_EQ(authorization("GET", "https://examplebucket.s3.amazonaws.com/test.txt",
                          {"Range: bytes=0-9", no_body}),
            expected("host;range;x-amz-content-sha256;x-amz-date",
                     "f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41"));
  EXPECT_EQ(authorization(
                "PUT", "https://examplebucket.s3.amazonaws.com/test%24file.text",
                {"x-amz-storage-class: REDUCED_REDUNDANCY", "Date: Fri, 24 May 2013 00:00:00 GMT",
                 "x-amz-content-sha256: "
                 "44ce7dd67c959e0d3524ffac1771dfbba87d2b6b4b4e99e42034a8b803f8b072"}),
            expected("date;host;x-amz-content-sha256;x-amz-date;x-amz-storage-class",
                     "98ad721746da40c64f1a55b78f14c238d841ea1380cd77a1b5971af0ece108bd"));
  EXPECT_EQ(authorization("GET", "https://examplebucket.s3.amazonaws.com/?lifecycle=", {no_body}),
            expected("host;x-amz-content-sha256;x-amz-date",
                     "fea454ca298b7da1c68078a5d1bdbfbbe0d65c699e0f91ac7a200a0136783543"));
  EXPECT_EQ(authorization("GET", "https://examplebucket.s3.amazonaws.com/?max-keys=2&prefix=J",
                          {no_body}),
            expected("host;x-amz-content-sha256;x-amz-date",
                     "34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7"));
}

// Names are sorted whole, whatever their case; values lose the spaces around them.
TEST(Signature, FieldsMayHaveAnyOrder) {
  const std::string_view url = "https://h/x";
  const std::string first =
      authorization("GET", url, {"If-Match: \"a\"", no_body, "If-Match-Size:  3 "});
  EXPECT_EQ(authorization("GET", url, {"if-match-size: 3", "IF-MATCH: \"a\"", no_body}), first);
  EXPECT_TRUE(
      first.contains("SignedHeaders=host;if-match;if-match-size;x-amz-content-sha256;x-amz-date,"));
  EXPECT_NE(authorization("GET", url, {"If-Match: \"b\"", no_body, "If-Match-Size: 3"}), first);
}

TEST(Signature, HostHasThePortThatIsNotTheSchemesOwn) {
  const auto host = [](std::string_view url) {
    const std::vector<std::string> fields{no_body};
    for (const std::string& line :
         sign({.method = "GET", .url = url, .fields = fields, .region = "r"}, example, midnight)) {
      if (line.starts_with("Host: ")) return line.substr(6);
    }
    return std::string();
  };
  EXPECT_EQ(host("https://a.example:443/x"), "a.example");
  EXPECT_EQ(host("http://a.example:80/x"), "a.example");
  EXPECT_EQ(host("http://a.example:443/x"), "a.example:443");
  EXPECT_EQ(host("http://[::1]:9000/"), "[::1]:9000");
}

TEST(Signature, TemporaryCredentialsHaveAToken) {
  Credentials temporary = example;
  temporary.session_token = "TOKEN";
  const std::vector<std::string> fields{no_body};
  const auto lines = sign({.method = "GET", .url = "https://h/", .fields = fields, .region = "r"},
                          temporary, midnight);
  EXPECT_TRUE(std::ranges::find(lines, "x-amz-security-token: TOKEN") != lines.end());
  EXPECT_TRUE(lines.back().contains(";x-amz-security-token,"));
  EXPECT_FALSE(std::ranges::any_of(
      lines, [](const std::string& line) { return line.contains(example.secret); }));
}

}  // namespace signature_test
}  // namespace h2server::content::s3
