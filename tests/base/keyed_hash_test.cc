#include "base/keyed_hash.h"

#include <gtest/gtest.h>

#include <array>
#include <set>
#include <string>

namespace h2server::base {
namespace keyed_hash_test {

TEST(KeyedHash, IsTheSameForTheSameText) {
  for (const std::string& text : {std::string(), std::string("a"), std::string(100, 'x')}) {
    EXPECT_EQ(keyed_hash(text), keyed_hash(std::string(text)));
  }
}

TEST(KeyedHash, TellsTextsApart) {
  std::set<std::uint64_t> hashes;
  for (std::size_t size = 0; size < 40; ++size) {
    for (std::size_t changed = 0; changed <= size; ++changed) {
      std::string text(size, 'a');
      if (changed < size) text[changed] = 'b';
      EXPECT_TRUE(hashes.insert(keyed_hash(text)).second) << text;
    }
  }
}

// The low bits select a bucket.
TEST(KeyedHash, SpreadsOverBuckets) {
  std::array<int, 16> buckets{};
  constexpr int texts = 16'000;
  for (int i = 0; i < texts; ++i) ++buckets[keyed_hash("/file" + std::to_string(i)) % 16];
  for (const int count : buckets) {
    EXPECT_GT(count, 800);
    EXPECT_LT(count, 1200);
  }
}

}  // namespace keyed_hash_test
}  // namespace h2server::base
