// TokenTable: the bearer tokens of a password file (RFC 6750), as SHA-256 digests of them.
//
// SHA-256 is fast, and enough for a token of 128 random bits: nobody can guess it, however fast
// guesses are checked. That is not true for a password, which somebody chose. And a token comes
// with each request of a program, which a slow hash would hold up.
//
// Immutable once it is filled; then any thread.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "h2server/result.h"
#include "net/crypto/tls_sha256.h"

namespace h2server::server {

class TokenTable {
 public:
  // A token is compared with all of them: 1000 take 1 us.
  static constexpr std::size_t tokens_max = 1000;
  // Longer ones are not hashed. 1024 bytes of base64 are 6144 random bits.
  static constexpr std::size_t token_bytes_max = 1024;
  // What stands before the digest in a line of the file.
  static constexpr std::string_view prefix = "{SHA256}";

  // `hash` begins with the prefix. Fails with the reason, which does not contain the hash. A user
  // may have several tokens.
  Result<void, std::string> add(std::string_view user, std::string_view hash);

  [[nodiscard]] bool empty() const noexcept { return digests_.empty(); }
  // Returns the user, or null if there is no such token. The time depends on the sizes of the token
  // and of the table only.
  [[nodiscard]] const std::string* find(std::string_view token) const;

 private:
  using Words = std::array<std::uint64_t, 4>;  // of a digest
  static Words words_of(const net::Sha256Digest& digest) noexcept;
  [[nodiscard]] const std::string* find(const Words& wanted) const noexcept;

  std::vector<Words> digests_;
  std::vector<std::string> users_;  // of the digests
};

}  // namespace h2server::server
