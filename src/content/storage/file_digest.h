// Digests of files that are received, computed piece by piece.
//
// One thread at a time.
#pragma once

#include <array>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "net/crypto/tls_digest.h"

namespace h2server::content {

template <net::Digest::Algorithm algorithm, std::size_t bytes>
class FileDigest {
 public:
  using Value = std::array<unsigned char, bytes>;

  FileDigest() : digest_(algorithm) {}

  void update(std::string_view piece) { digest_.update(piece); }
  // Nothing may be added afterwards.
  [[nodiscard]] Value finish() {
    Value value{};
    digest_.finish(value);
    return value;
  }

 private:
  net::Digest digest_;
};

using Sha1 = FileDigest<net::Digest::Algorithm::sha1, 20>;
using Sha256 = FileDigest<net::Digest::Algorithm::sha256, 32>;
using Sha512 = FileDigest<net::Digest::Algorithm::sha512, 64>;

// Returns two hexadecimal digits per byte, in lower case.
std::string hex_digits(std::span<const unsigned char> bytes);
// The reverse; nullopt for anything else.
std::optional<std::vector<unsigned char>> bytes_of_hex_digits(std::string_view digits);

}  // namespace h2server::content
