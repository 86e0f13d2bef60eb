#include "net/crypto/tls_hmac.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <string>
#include <vector>

namespace h2server::net {
namespace tls_hmac_test {

std::string hex(const Sha256Digest& digest) {
  std::string text;
  for (const unsigned char byte : digest) {
    char digits[3];
    std::snprintf(digits, sizeof(digits), "%02x", byte);
    text += digits;
  }
  return text;
}

// RFC 4231, 4.2, 4.3 and 4.7.
TEST(TlsHmac, Vectors) {
  struct Row {
    std::string key;
    std::string bytes;
    std::string digest;
  };
  const std::vector<Row> rows = {
      {std::string(20, '\x0b'), "Hi There",
       "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7"},
      {"Jefe", "what do ya want for nothing?",
       "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843"},
      {std::string(131, '\xaa'), "Test Using Larger Than Block-Size Key - Hash Key First",
       "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54"},
  };
  for (const Row& row : rows) {
    const std::vector<unsigned char> key(row.key.begin(), row.key.end());
    EXPECT_EQ(hex(hmac_sha256(key, row.bytes)), row.digest) << row.bytes;
  }
}

}  // namespace tls_hmac_test
}  // namespace h2server::net
