#include "pieces.h"

#include <algorithm>

namespace h2server::fuzz {

Cuts Cuts::chosen_by(std::string_view input) noexcept {
  std::uint64_t seed = 1;
  const std::size_t size = std::min<std::size_t>(input.size(), 8);
  for (const char c : input.substr(input.size() - size)) {
    seed = seed << 8 | static_cast<unsigned char>(c);
  }
  return {Kind::chosen, seed};
}

std::size_t Cuts::next(std::size_t left) noexcept {
  if (kind_ == Kind::whole) return left;
  if (kind_ == Kind::single_bytes) return std::min<std::size_t>(left, 1);
  // Knuth's MMIX generator; its high bits are the good ones. Yields small and large pieces.
  state_ = state_ * 6364136223846793005U + 1442695040888963407U;
  const std::size_t longest = std::size_t{1} << (state_ >> 60);
  const std::size_t size = 1 + (state_ >> 32) % longest;
  return std::min(left, size);
}

ExactCopy::ExactCopy(std::string_view bytes)
    : bytes_(std::make_unique_for_overwrite<char[]>(bytes.size())), size_(bytes.size()) {
  std::ranges::copy(bytes, bytes_.get());
}

}  // namespace h2server::fuzz
