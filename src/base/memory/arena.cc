#include "base/memory/arena.h"

#include <algorithm>

#include "base/memory/memory_budget.h"

namespace h2server::base {

void Arena::add_block(std::size_t size) {
  const std::size_t room = std::max(size, block_bytes_);
  blocks_.push_back({std::make_unique_for_overwrite<char[]>(room), room});
  next_ = blocks_.back().bytes.get();
  end_ = next_ + room;
  count(held_ + room);
  block_bytes_ = std::min(2 * room, block_bytes_max);
}

void Arena::clear() noexcept {
  const std::size_t size = blocks_.empty() ? 0 : blocks_.front().size;
  // Otherwise the next block is larger, or this one was too large.
  const bool keeps = size == block_bytes_max || (size < block_bytes_max && blocks_.size() == 1);
  blocks_.resize(keeps ? 1 : 0);
  next_ = keeps ? blocks_.front().bytes.get() : nullptr;
  end_ = keeps ? next_ + size : nullptr;
  count(keeps ? size : 0);
}

void Arena::count(std::size_t held) noexcept {
  MemoryBudget& budget = MemoryBudget::of_process();
  if (held > held_) budget.charge(MemoryOwner::requests, held - held_);
  if (held < held_) budget.discharge(MemoryOwner::requests, held_ - held);
  held_ = held;
}

}  // namespace h2server::base
