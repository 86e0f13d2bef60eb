#include "server/passwords/remembered.h"

#include <gtest/gtest.h>

#include <string>

namespace h2server::server {
namespace remembered_test {

RememberedDigests::Digest digest_of(const std::string& text) {
  static const net::KeyedDigest key;
  return key.of(text);
}

TEST(KeyedDigest, DependsOnTheBytesAndOnTheKey) {
  const net::KeyedDigest one;
  const net::KeyedDigest other;
  EXPECT_EQ(one.of("text"), one.of("text"));
  EXPECT_NE(one.of("text"), one.of("texts"));
  EXPECT_NE(one.of(""), one.of(std::string(1, '\0')));
  EXPECT_NE(one.of("text"), other.of("text"));
}

TEST(RememberedDigests, ForgetsAfterTheLifetime) {
  RememberedDigests digests(16, 100);
  EXPECT_FALSE(digests.knows(digest_of("a"), 1000));
  EXPECT_FALSE(digests.renew(digest_of("a"), 1000));
  digests.remember(digest_of("a"), 1000);
  EXPECT_TRUE(digests.knows(digest_of("a"), 1000));
  EXPECT_TRUE(digests.knows(digest_of("a"), 1099));
  EXPECT_FALSE(digests.knows(digest_of("b"), 1099));
  EXPECT_FALSE(digests.knows(digest_of("a"), 1100));
  EXPECT_FALSE(digests.renew(digest_of("a"), 1100));
  digests.remember(digest_of("a"), 1100);
  EXPECT_TRUE(digests.knows(digest_of("a"), 1199));
}

TEST(RememberedDigests, UseRenews) {
  RememberedDigests digests(16, 100);
  digests.remember(digest_of("a"), 1000);
  for (std::int64_t now = 1000; now < 2000; now += 99) {
    EXPECT_TRUE(digests.renew(digest_of("a"), now)) << now;
  }
  EXPECT_FALSE(digests.renew(digest_of("a"), 2100));
}

TEST(RememberedDigests, TheOldestGivesWay) {
  RememberedDigests digests(8, 1'000'000);  // one group
  const auto numbered = [](int number) { return digest_of(std::to_string(number)); };
  for (int i = 0; i < 8; ++i) digests.remember(numbered(i), i);
  EXPECT_TRUE(digests.renew(numbered(0), 8));
  digests.remember(numbered(8), 9);
  EXPECT_TRUE(digests.knows(numbered(0), 9));
  EXPECT_FALSE(digests.knows(numbered(1), 9));
  for (int i = 2; i <= 8; ++i) EXPECT_TRUE(digests.knows(numbered(i), 9)) << i;
  digests.remember(numbered(8), 10);  // takes no other place
  for (int i = 2; i <= 8; ++i) EXPECT_TRUE(digests.knows(numbered(i), 10)) << i;
}

TEST(RememberedDigests, RemembersNothingWithoutALifetime) {
  RememberedDigests digests(1, 0);
  digests.remember(digest_of("a"), 1000);
  EXPECT_FALSE(digests.knows(digest_of("a"), 1000));
  EXPECT_FALSE(digests.renew(digest_of("a"), 1000));
}

}  // namespace remembered_test
}  // namespace h2server::server
