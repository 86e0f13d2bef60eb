#include "load/upload.h"

#include <algorithm>
#include <array>

#include "base/assert.h"

namespace h2server::lab::load {

namespace {

constexpr std::size_t period = 64 * 1024;

// Two periods, so that at least one whole period is contiguous from any offset.
using Table = std::array<char, 2 * period>;

const Table& table() noexcept {
  static const Table made = [] {
    Table bytes{};
    for (std::size_t i = 0; i < bytes.size(); ++i) {
      bytes[i] = static_cast<char>((i * 131 + (i >> 8)) & 255);
    }
    return bytes;
  }();
  return made;
}

}  // namespace

std::string_view pattern(std::uint64_t offset, std::size_t size_max) noexcept {
  const auto place = static_cast<std::size_t>(offset % period);
  return std::string_view(table().data(), table().size()).substr(place, size_max);
}

Upload::Piece Upload::take(std::size_t size_max) {
  ASSERT(left() > 0 && size_max > 0);
  Piece piece{};
  if (sent_ < before_.size()) {
    piece = {std::string_view(before_).substr(static_cast<std::size_t>(sent_), size_max), false};
  } else if (sent_ < before_.size() + pattern_bytes_) {
    const std::uint64_t offset = sent_ - before_.size();
    const std::uint64_t rest = pattern_bytes_ - offset;
    piece = {pattern(offset, static_cast<std::size_t>(std::min<std::uint64_t>(rest, size_max))),
             true};
  } else {
    const auto offset = static_cast<std::size_t>(sent_ - before_.size() - pattern_bytes_);
    piece = {std::string_view(after_).substr(offset, size_max), false};
  }
  sent_ += piece.bytes.size();
  return piece;
}

}  // namespace h2server::lab::load
