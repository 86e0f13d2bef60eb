// Integers of HPACK (RFC 7541, 5.1): a prefix of some bits, then seven bits a byte.
#pragma once

#include <cstddef>
#include <cstdint>

namespace h2server::http::h2::hpack {

inline constexpr std::size_t integer_bytes_max = 6;  // UINT32_MAX: the prefix and five more

// `flags` are the bits of the first byte above the prefix. Returns the new end.
inline char* encode_integer(char* out, unsigned flags, unsigned prefix_bits,
                            std::uint32_t value) noexcept {
  const std::uint32_t prefix_max = (1U << prefix_bits) - 1;
  if (value < prefix_max) {
    *out++ = static_cast<char>(flags | value);
    return out;
  }
  *out++ = static_cast<char>(flags | prefix_max);
  for (value -= prefix_max; value >= 0x80; value >>= 7) {
    *out++ = static_cast<char>(0x80 | (value & 0x7f));
  }
  *out++ = static_cast<char>(value);
  return out;
}

// Reads at `cursor`, which must be before `end`, and advances it. Returns false if the bytes end
// within the integer, if it exceeds 32 bits, or if more than five bytes continue it: endless zeros
// must not cost endless work.
inline bool decode_integer(const char*& cursor, const char* end, unsigned prefix_bits,
                           std::uint32_t& value) noexcept {
  const std::uint32_t prefix_max = (1U << prefix_bits) - 1;
  const std::uint32_t prefix = static_cast<unsigned char>(*cursor++) & prefix_max;
  value = prefix;
  if (prefix < prefix_max) [[likely]]
    return true;
  std::uint64_t sum = prefix;
  for (unsigned shift = 0; shift < 35; shift += 7) {
    if (cursor == end) return false;
    const auto byte = static_cast<unsigned char>(*cursor++);
    sum += std::uint64_t{byte & 0x7fU} << shift;
    if (byte < 0x80) {
      value = static_cast<std::uint32_t>(sum);
      return sum <= UINT32_MAX;
    }
  }
  return false;
}

}  // namespace h2server::http::h2::hpack
