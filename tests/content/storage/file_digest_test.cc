#include "content/storage/file_digest.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace h2server::content {
namespace file_digest_test {

template <class Digest>
std::string digest_of(const std::vector<std::string>& pieces) {
  Digest digest;
  for (const std::string& piece : pieces) digest.update(piece);
  return hex_digits(digest.finish());
}

// FIPS 180-4's examples.
TEST(FileDigest, Examples) {
  struct Row {
    std::string text;
    std::string sha1;
    std::string sha256;
    std::string sha512;
  };
  const std::vector<Row> rows = {
      {"", "da39a3ee5e6b4b0d3255bfef95601890afd80709",
       "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
       "cf83e1357eefb8bdf1542850d66d8007d620e4050b5715dc83f4a921d36ce9ce"
       "47d0d13c5d85f2b0ff8318d2877eec2f63b931bd47417a81a538327af927da3e"},
      {"abc", "a9993e364706816aba3e25717850c26c9cd0d89d",
       "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad",
       "ddaf35a193617abacc417349ae20413112e6fa4e89a97ea20a9eeee64b55d39a"
       "2192992a274fc1a836ba3c23a3feebbd454d4423643ce80e2a9ac94fa54ca49f"},
      {"abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
       "84983e441c3bd26ebaae4aa1f95129e5e54670f1",
       "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1",
       "204a8fc6dda82f0a0ced7beb8e08a41657c16ef468b228a8279be331a703c335"
       "96fd15c13b1b07f9aa1d3bea57789ca031ad85c7a71dd70354ec631238ca3445"},
  };
  for (const Row& row : rows) {
    std::vector<std::string> bytes;
    for (const char byte : row.text) bytes.emplace_back(1, byte);
    for (const std::vector<std::string>& pieces : {std::vector{row.text}, bytes}) {
      EXPECT_EQ(digest_of<Sha1>(pieces), row.sha1);
      EXPECT_EQ(digest_of<Sha256>(pieces), row.sha256);
      EXPECT_EQ(digest_of<Sha512>(pieces), row.sha512);
    }
  }
}

TEST(FileDigest, GoesOnWhenItWasMoved) {
  Sha256 digest;
  digest.update("a");
  Sha256 moved = std::move(digest);
  moved.update("bc");
  EXPECT_EQ(hex_digits(moved.finish()), digest_of<Sha256>({"abc"}));
}

TEST(FileDigest, HexDigits) {
  using Bytes = std::vector<unsigned char>;
  EXPECT_EQ(hex_digits({}), "");
  EXPECT_EQ(hex_digits(Bytes{0x00, 0x0f, 0xa5, 0xff}), "000fa5ff");
  EXPECT_EQ(bytes_of_hex_digits(""), Bytes{});
  EXPECT_EQ(bytes_of_hex_digits("000fA5ff"), (Bytes{0x00, 0x0f, 0xa5, 0xff}));
  for (const std::string_view row : {"0", "000", "0g", "g0", " 0", "0x", "-1", "0\0"}) {
    EXPECT_EQ(bytes_of_hex_digits(row), std::nullopt) << row;
  }
}

}  // namespace file_digest_test
}  // namespace h2server::content
