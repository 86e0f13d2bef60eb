// Loads, stores and compares short byte strings by words. Names and values are mostly 3 to 30
// bytes, for which a call of memcmp costs more than the comparison.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace h2server::http::h2::hpack {

template <class Word>
inline Word load(const char* from) noexcept {
  Word word;
  std::memcpy(&word, from, sizeof word);
  return word;
}

// The first byte is the most significant one.
template <class Word>
inline Word load_big_endian(const char* from) noexcept {
  const Word word = load<Word>(from);
  return std::endian::native == std::endian::big ? word : std::byteswap(word);
}

template <class Word>
inline void store_big_endian(char* to, Word word) noexcept {
  if constexpr (std::endian::native != std::endian::big) word = std::byteswap(word);
  std::memcpy(to, &word, sizeof word);
}

// The first byte is the least significant one.
template <class Word>
inline void store_little_endian(char* to, Word word) noexcept {
  if constexpr (std::endian::native != std::endian::little) word = std::byteswap(word);
  std::memcpy(to, &word, sizeof word);
}

inline bool same_bytes(const char* a, const char* b, std::size_t size) noexcept {
  using Long = std::uint64_t;
  using Short = std::uint32_t;
  if (size >= sizeof(Long)) {
    for (std::size_t i = 0; i + sizeof(Long) < size; i += sizeof(Long)) {
      if (load<Long>(a + i) != load<Long>(b + i)) return false;
    }
    const std::size_t last = size - sizeof(Long);  // overlaps the bytes compared before
    return load<Long>(a + last) == load<Long>(b + last);
  }
  if (size >= sizeof(Short)) {
    const std::size_t last = size - sizeof(Short);
    return load<Short>(a) == load<Short>(b) && load<Short>(a + last) == load<Short>(b + last);
  }
  for (std::size_t i = 0; i < size; ++i) {
    if (a[i] != b[i]) return false;
  }
  return true;
}

}  // namespace h2server::http::h2::hpack
