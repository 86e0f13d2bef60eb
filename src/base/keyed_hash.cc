#include "base/keyed_hash.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <random>

namespace h2server::base {

namespace {

struct Key {
  std::array<std::uint64_t, 2> words;
  Key() {
    std::random_device random;  // getrandom() or RDRAND
    for (std::uint64_t& word : words) word = std::uint64_t{random()} << 32 | random();
  }
};

// The product's halves depend on all bits of both factors.
std::uint64_t mix(std::uint64_t a, std::uint64_t b) noexcept {
  __extension__ using Wide = unsigned __int128;
  const Wide product = static_cast<Wide>(a) * b;
  return static_cast<std::uint64_t>(product) ^ static_cast<std::uint64_t>(product >> 64);
}

}  // namespace

std::uint64_t keyed_hash(std::string_view text) noexcept {
  static const Key key;
  std::uint64_t hash = key.words[0] ^ text.size();
  while (!text.empty()) {
    std::uint64_t word = 0;
    const std::size_t size = std::min(text.size(), sizeof word);
    std::memcpy(&word, text.data(), size);
    hash = mix(hash ^ word, key.words[1] | 1) + key.words[0];
    text.remove_prefix(size);
  }
  return mix(hash, key.words[0] | 1);
}

}  // namespace h2server::base
