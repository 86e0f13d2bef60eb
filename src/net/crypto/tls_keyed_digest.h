// KeyedDigest: HMAC-SHA-256 (RFC 2104) with a random key that never leaves this object. Keeps the
// fact that a secret was seen without keeping the secret.
//
// Immutable, any thread. Processes that were forked have the same key.
#pragma once

#include <array>
#include <string_view>

namespace h2server::net {

class KeyedDigest {
 public:
  using Value = std::array<unsigned char, 32>;

  KeyedDigest();
  KeyedDigest(const KeyedDigest&) = delete;
  KeyedDigest& operator=(const KeyedDigest&) = delete;
  ~KeyedDigest();

  [[nodiscard]] Value of(std::string_view bytes) const;

 private:
  std::array<unsigned char, 32> key_;
};

}  // namespace h2server::net
