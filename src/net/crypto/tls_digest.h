// Digest: a hash that is computed piece by piece (FIPS 180-4).
//
// One thread at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

struct evp_md_ctx_st;

namespace h2server::net {

class Digest {
 public:
  enum class Algorithm : std::uint8_t { sha1, sha256, sha512 };
  static constexpr std::size_t bytes_max = 64;

  explicit Digest(Algorithm algorithm);

  void update(std::string_view bytes);
  // Writes the digest to `room`, which has exactly its size: 20, 32 or 64 bytes. Nothing may be
  // added afterwards.
  void finish(std::span<unsigned char> room);

 private:
  struct Free {
    void operator()(evp_md_ctx_st* state) const noexcept;
  };
  std::unique_ptr<evp_md_ctx_st, Free> state_;
};

}  // namespace h2server::net
