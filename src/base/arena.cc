#include "base/arena.h"

#include <algorithm>
#include <cstring>

namespace h2server::base {

std::span<char> Arena::take(std::size_t size) {
  if (blocks_.empty() || blocks_.back().size - used_ < size) {
    const std::size_t room = std::max(size, block_bytes);
    blocks_.push_back({std::make_unique_for_overwrite<char[]>(room), room});
    used_ = 0;
  }
  char* const first = blocks_.back().bytes.get() + used_;
  used_ += size;
  return {first, size};
}

std::string_view Arena::copy(std::string_view bytes) {
  if (bytes.empty()) return {};
  const std::span<char> room = take(bytes.size());
  std::memcpy(room.data(), bytes.data(), bytes.size());
  return {room.data(), room.size()};
}

void Arena::clear() noexcept {
  if (blocks_.size() > 1) blocks_.resize(1);
  if (!blocks_.empty() && blocks_.front().size > block_bytes) blocks_.clear();
  used_ = 0;
}

std::size_t Arena::bytes_held() const noexcept {
  std::size_t sum = 0;
  for (const Block& block : blocks_) sum += block.size;
  return sum;
}

}  // namespace h2server::base
