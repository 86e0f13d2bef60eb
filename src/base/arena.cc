#include "base/arena.h"

#include <algorithm>

namespace h2server::base {

void Arena::add_block(std::size_t size) {
  const std::size_t room = std::max(size, block_bytes);
  blocks_.push_back({std::make_unique_for_overwrite<char[]>(room), room});
  next_ = blocks_.back().bytes.get();
  end_ = next_ + room;
}

void Arena::clear() noexcept {
  if (blocks_.size() > 1) blocks_.resize(1);
  if (!blocks_.empty() && blocks_.front().size > block_bytes) blocks_.clear();
  next_ = blocks_.empty() ? nullptr : blocks_.front().bytes.get();
  end_ = blocks_.empty() ? nullptr : next_ + blocks_.front().size;
}

std::size_t Arena::bytes_held() const noexcept {
  std::size_t sum = 0;
  for (const Block& block : blocks_) sum += block.size;
  return sum;
}

}  // namespace h2server::base
