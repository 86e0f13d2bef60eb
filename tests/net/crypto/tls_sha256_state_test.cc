#include "net/crypto/tls_sha256_state.h"

#include <gtest/gtest.h>

#include "net/crypto/tls_digest.h"

namespace h2server::net {
namespace tls_sha256_state_test {

Sha256State::Value digest_of(std::string_view text) {
  Digest digest(Digest::Algorithm::sha256);
  digest.update(text);
  Sha256State::Value value{};
  digest.finish(value);
  return value;
}

TEST(Sha256State, ContinuesAtEachBlock) {
  std::string text;
  for (int i = 0; i < 1000; ++i) text += static_cast<char>(i * 7);
  for (std::size_t size = 0; size <= text.size(); size += 37) {
    const std::string_view all = std::string_view(text).substr(0, size);
    for (std::size_t at = 0; at <= size; at += Sha256State::block_bytes) {
      Sha256State first;
      first.update(all.substr(0, at));
      std::optional<Sha256State> second = Sha256State::resume(first.digits(), first.bytes());
      ASSERT_TRUE(second);
      EXPECT_EQ(second->finish(all.substr(at)), digest_of(all)) << size << " at " << at;
      EXPECT_EQ(first.finish(all.substr(at)), digest_of(all)) << size << " at " << at;
    }
  }
}

TEST(Sha256State, CountsBeyond4GiB) {
  constexpr std::uint64_t bytes = std::uint64_t{5} << 30;
  const std::optional<Sha256State> state = Sha256State::resume(Sha256State().digits(), bytes);
  ASSERT_TRUE(state);
  // The length is a part of what is digested.
  EXPECT_NE(state->finish("x"), Sha256State::resume(Sha256State().digits(), 1 << 30)->finish("x"));
}

TEST(Sha256State, RefusesWhatIsNone) {
  const std::string digits = Sha256State().digits();
  EXPECT_EQ(digits.substr(0, 16), "6a09e667bb67ae85");  // FIPS 180-4, 5.3.3
  EXPECT_TRUE(Sha256State::resume(digits, 64));
  EXPECT_FALSE(Sha256State::resume(digits, 63));
  EXPECT_FALSE(Sha256State::resume(digits + "0", 64));
  for (std::size_t at = 0; at < digits.size(); ++at) {
    std::string wrong = digits;
    wrong[at] = '-';
    EXPECT_FALSE(Sha256State::resume(wrong, 64)) << at;
    EXPECT_FALSE(Sha256State::resume(digits.substr(0, at), 64)) << at;
  }
}

}  // namespace tls_sha256_state_test
}  // namespace h2server::net
