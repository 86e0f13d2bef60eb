// Sha256State: SHA-256 (FIPS 180-4) of whole blocks, whose state can be written down and continued
// by another process.
//
// A value object. Any thread.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace h2server::net {

class Sha256State {
 public:
  static constexpr std::size_t block_bytes = 64;
  static constexpr std::size_t digits_size = 64;
  using Value = std::array<unsigned char, 32>;

  Sha256State();  // of nothing
  // Continues what had `bytes` bytes when digits() returned `digits`. Returns nullopt if they are
  // no state.
  static std::optional<Sha256State> resume(std::string_view digits, std::uint64_t bytes);

  // Adds whole blocks.
  void update(std::string_view blocks);
  [[nodiscard]] std::uint64_t bytes() const noexcept { return bytes_; }
  // The state in hexadecimal digits.
  [[nodiscard]] std::string digits() const;
  // Returns the digest of what was added, followed by `rest`.
  [[nodiscard]] Value finish(std::string_view rest) const;

 private:
  std::array<std::uint32_t, 8> words_{};
  std::uint64_t bytes_ = 0;
};

}  // namespace h2server::net
