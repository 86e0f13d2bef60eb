#include "app/acme/acme_jose.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>

#include "app/acme_authority.h"

namespace h2server::app {
namespace acme_jose_test {

using Json = nlohmann::json;
using tests::decode_base64url;

TEST(AcmeJose, Base64url) {
  // RFC 4648, 10, without padding; RFC 7515, appendix C.
  const std::pair<std::string, std::string> rows[] = {
      {"", ""},
      {"f", "Zg"},
      {"fo", "Zm8"},
      {"foo", "Zm9v"},
      {"foob", "Zm9vYg"},
      {"fooba", "Zm9vYmE"},
      {"foobar", "Zm9vYmFy"},
      {"\x03\xec\xff\xe0\xc1", "A-z_4ME"},
  };
  for (const auto& [bytes, text] : rows) EXPECT_EQ(encode_base64url(bytes), text);
  EXPECT_TRUE(is_base64url("A-z_4ME"));
  for (const char* const text : {"", "A=", "A+", "A/", "../x", "a b"}) {
    EXPECT_FALSE(is_base64url(text)) << text;
  }
}

// RFC 7638, 3.1.
TEST(AcmeJose, Thumbprint) {
  EXPECT_EQ(
      thumbprint_of(
          R"({"e":"AQAB","kty":"RSA","n":"0vx7agoebGcQSuuPiLJXZptN9nndrQmbXEps2aiAFbWhM78LhWx)"
          R"(4cbbfAAtVT86zwu1RK7aPFFxuhDR1L6tSoc_BJECPebWKRXjBZCiFV4n3oknjhMstn64tZ_2W-5JsGY4)"
          R"(Hc5n9yBXArwl93lqt7_RN5w6Cf0h4QyQ5v-65YGjQR0_FDW2QvzqY368QQMicAtaSqzs8KJZgnYb9c7d0)"
          R"(zgdAZHzu6qMQvRL5hajrn1n91CbOpbISD08qNLyrdkt-bFTWhAI4vMQFh6WeZu0fM4lFd2NcRwr3XPksI)"
          R"(NHaQ-G_xBniIqbw0Ls1jF44-csFCur-kEgU8awapJzKnqDKgw"})"),
      "NzbLsXh8uDCcd-6MNwXF4W_7noWXFZAfHkxZsRGC9Xs");
}

TEST(AcmeJose, PublicKey) {
  const net::SigningKey key = net::SigningKey::make();
  const std::string text = public_jwk(key);
  const Json jwk = Json::parse(text);
  EXPECT_EQ(jwk.dump(), text) << "not in lexicographic order, or with blanks";
  EXPECT_EQ(decode_base64url(jwk["x"]), key.point().x);
  EXPECT_EQ(decode_base64url(jwk["y"]), key.point().y);
  EXPECT_EQ(key.point().x.size(), 32u);
}

TEST(AcmeJose, MessageWithKey) {
  const net::SigningKey key = net::SigningKey::make();
  const Json message = Json::parse(sign_message(
      key, {.url = "https://ca.test/\"", .nonce = "n", .account_url = std::nullopt}, "{}"));
  const Json header = Json::parse(decode_base64url(message["protected"]));
  EXPECT_EQ(header, (Json{{"alg", "ES256"},
                          {"jwk", Json::parse(public_jwk(key))},
                          {"nonce", "n"},
                          {"url", "https://ca.test/\""}}));
  EXPECT_EQ(decode_base64url(message["payload"]), "{}");
  EXPECT_EQ(decode_base64url(message["signature"]).size(), 64u);
}

TEST(AcmeJose, MessageOfAccountWithoutPayload) {
  const net::SigningKey key = net::SigningKey::make();
  const Json message = Json::parse(sign_message(
      key, {.url = "https://ca.test/x", .nonce = "n", .account_url = "https://ca.test/account/1"},
      ""));
  const Json header = Json::parse(decode_base64url(message["protected"]));
  EXPECT_EQ(header, (Json{{"alg", "ES256"},
                          {"kid", "https://ca.test/account/1"},
                          {"nonce", "n"},
                          {"url", "https://ca.test/x"}}));
  EXPECT_EQ(message["payload"], "");
}

// RFC 9773, 4.1.
TEST(AcmeJose, RenewalName) {
  EXPECT_EQ(renewal_name({.authority_key = "\x69\x88\x5B\x6B\x87\x46\x40\x41\xE1\xB3\x7B\x84\x7B"
                                           "\xA0\xAE\x2C\xDE\x01\xC8\xD4",
                          .serial = std::string("\x00\x87\x65\x43\x21", 5)}),
            "aYhba4dGQEHhs3uEe6CuLN4ByNQ.AIdlQyE");
}

}  // namespace acme_jose_test
}  // namespace h2server::app
