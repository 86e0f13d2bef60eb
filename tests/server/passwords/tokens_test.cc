#include "server/passwords/tokens.h"

#include <gtest/gtest.h>

#include <cctype>
#include <string>
#include <utility>
#include <vector>

#include "server/passwords/table.h"

namespace h2server::server {
namespace tokens_test {

// By sha256sum.
const std::string of_abc = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
const std::string of_nothing = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
const std::string engine = "$2b$04$abcdefghijklmnopqrstuuCiRMDOSPunoGZ1DCFvc2WqLWXwAsJFG";

std::string user_of(const TokenTable& table, const std::string& token) {
  const std::string* const user = table.find(token);
  return user == nullptr ? "" : *user;
}

std::string hex_of(const net::Sha256Digest& digest) {
  std::string text;
  for (const unsigned char byte : digest) {
    text += "0123456789abcdef"[byte >> 4];
    text += "0123456789abcdef"[byte & 15];
  }
  return text;
}

std::string line_of(const std::string& token) { return "{SHA256}" + hex_of(net::sha256(token)); }

// FIPS 180-4, and sha256sum.
TEST(Sha256, KnownDigests) {
  EXPECT_EQ(hex_of(net::sha256("")), of_nothing);
  EXPECT_EQ(hex_of(net::sha256("abc")), of_abc);
  EXPECT_EQ(hex_of(net::sha256("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq")),
            "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
}

TEST(TokenTable, Finds) {
  TokenTable table;
  EXPECT_TRUE(table.empty());
  EXPECT_EQ(table.find("abc"), nullptr);
  ASSERT_TRUE(table.add("ci", "{SHA256}" + of_abc));
  ASSERT_TRUE(table.add("ci", line_of("second")));  // while one takes the place of the other
  ASSERT_TRUE(table.add("backup", line_of(std::string(1024, 'x'))));
  std::string upper = line_of("upper");
  for (char& c : upper.replace(0, 8, "")) c = static_cast<char>(std::toupper(c));
  ASSERT_TRUE(table.add("upper", "{SHA256}" + upper));
  ASSERT_TRUE(table.add("long", line_of(std::string(1025, 'x'))));  // never found
  EXPECT_FALSE(table.empty());
  const std::vector<std::pair<std::string, std::string>> rows = {
      {"abc", "ci"},
      {"second", "ci"},
      {std::string(1024, 'x'), "backup"},
      {"upper", "upper"},
      {std::string(1025, 'x'), ""},
      {"", ""},
      {"ab", ""},
      {"abcd", ""},
      {"ABC", ""},
      {of_abc, ""},
      {"{SHA256}" + of_abc, ""},
      {std::string("abc\0", 4), ""},
  };
  for (const auto& [token, user] : rows) EXPECT_EQ(user_of(table, token), user) << token;
}

// Digests that differ in one bit, wherever it is, are different.
TEST(TokenTable, LooksAtEachBit) {
  const net::Sha256Digest digest = net::sha256("abc");
  for (std::size_t bit = 0; bit < 256; ++bit) {
    net::Sha256Digest other = digest;
    other[bit / 8] ^= static_cast<unsigned char>(1U << bit % 8);
    TokenTable table;
    ASSERT_TRUE(table.add("other", "{SHA256}" + hex_of(other)));
    EXPECT_EQ(table.find("abc"), nullptr) << bit;
    ASSERT_TRUE(table.add("right", "{SHA256}" + of_abc));
    EXPECT_EQ(user_of(table, "abc"), "right") << bit;
  }
}

TEST(TokenTable, HoldsAThousand) {
  TokenTable table;
  for (int i = 0; i < 1000; ++i) {
    ASSERT_TRUE(table.add("user " + std::to_string(i), line_of(std::to_string(i))));
  }
  EXPECT_EQ(table.add("one more", line_of("one more")).error(), "more than 1000 tokens");
  for (const int i : {0, 1, 499, 998, 999}) {
    EXPECT_EQ(user_of(table, std::to_string(i)), "user " + std::to_string(i));
  }
  EXPECT_EQ(table.find("1000"), nullptr);
}

TEST(PasswordTable, HasTokensToo) {
  const std::string text = "# programs\nci:{SHA256}" + of_abc + "\r\nada:" + engine +
                           "\nada:{SHA256}" + of_nothing + ":a comment\nci:" + line_of("x") + "\n";
  const auto table = PasswordTable::parse(text, "users");
  ASSERT_TRUE(table) << table.error();
  EXPECT_TRUE(table->has_passwords());
  EXPECT_EQ(table->is_right("ada", "engine"), true);
  EXPECT_EQ(table->is_right("ci", "abc"), false);  // no password
  EXPECT_EQ(user_of(table->tokens(), "abc"), "ci");
  EXPECT_EQ(user_of(table->tokens(), "x"), "ci");
  EXPECT_EQ(user_of(table->tokens(), "engine"), "");
  const auto tokens = PasswordTable::parse("ci:{SHA256}" + of_abc, "users");
  ASSERT_TRUE(tokens) << tokens.error();
  EXPECT_FALSE(tokens->has_passwords());
  EXPECT_TRUE(PasswordTable::parse("ada:" + engine, "users")->tokens().empty());
}

TEST(PasswordTable, RefusesLinesOfTokens) {
  const std::string malformed = "a malformed SHA-256 of a token, which has 64 hexadecimal digits";
  const std::vector<std::pair<std::string, std::string>> rows = {
      {"ci:{SHA256}", "users:1: " + malformed},
      {"ci:{SHA256}" + of_abc.substr(1), "users:1: " + malformed},
      {"ci:{SHA256}" + of_abc + "0", "users:1: " + malformed},
      {"ci:{SHA256}" + of_abc + " ", "users:1: " + malformed},
      {"ci:{SHA256} " + of_abc, "users:1: " + malformed},
      {"ci:{SHA256}g" + of_abc.substr(1), "users:1: " + malformed},
      {"ci:{SHA256}ungWv48Bz+pBQUDeXa4iI7ADYaOWF3qctBD/YfIAFa0=", "users:1: " + malformed},
      {":{SHA256}" + of_abc, "users:1: no user's name"},
      {"a\tb:{SHA256}" + of_abc, "users:1: a control character in a user's name"},
      {"a:{SHA256}" + of_abc + "\nb:{SHA256}" + of_abc, "users:2: a token that is there already"},
  };
  for (const auto& [text, error] : rows) {
    const auto table = PasswordTable::parse(text, "users");
    ASSERT_FALSE(table) << text;
    EXPECT_EQ(table.error(), error);
    EXPECT_EQ(table.error().find(of_abc), std::string::npos);
  }
  EXPECT_TRUE(PasswordTable::parse("a:{sha256}" + of_abc, "users")) << "in any case";
}

}  // namespace tokens_test
}  // namespace h2server::server
