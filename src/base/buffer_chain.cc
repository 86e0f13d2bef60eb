#include "base/buffer_chain.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/assert.h"

namespace h2server::base {

struct BufferChain::Block {
  std::uint32_t users;  // pieces in this block, plus one if it is a chain's tail
  std::uint32_t used;   // bytes
  Block* next_free;
  char bytes[block_bytes];
};

// A thread's free blocks.
class BlockPool {
 public:
  using Block = BufferChain::Block;

  ~BlockPool() {
    while (first_ != nullptr) std::unique_ptr<Block>(std::exchange(first_, first_->next_free));
  }

  Block* take() {
    if (first_ == nullptr) return std::make_unique_for_overwrite<Block>().release();
    --count_;
    return std::exchange(first_, first_->next_free);
  }

  void give(Block* block) noexcept {
    std::unique_ptr<Block> owned(block);
    if (count_ == blocks_max) return;
    ++count_;
    block->next_free = first_;
    first_ = owned.release();
  }

 private:
  static constexpr std::size_t blocks_max = 32;  // 2 MiB; the rest of a burst is freed

  Block* first_ = nullptr;
  std::size_t count_ = 0;
};

namespace {
thread_local BlockPool block_pool;
}

void BufferChain::take_block() {
  Block* const block = block_pool.take();
  block->users = 1;
  block->used = 0;
  if (tail_ != nullptr) release(tail_);
  tail_ = block;
}

void BufferChain::release(Block* block) noexcept {
  if (--block->users == 0) block_pool.give(block);
}

std::span<char> BufferChain::reserve(std::size_t size) {
  ASSERT(size <= block_bytes);
  if (tail_ == nullptr || block_bytes - tail_->used < size) take_block();
  return {tail_->bytes + tail_->used, size};
}

void BufferChain::commit(std::size_t size) {
  if (size == 0) return;
  char* const data = tail_->bytes + tail_->used;
  ASSERT(block_bytes - tail_->used >= size);
  const bool adjacent = first_ < pieces_.size() && pieces_.back().block == tail_ &&
                        pieces_.back().data + pieces_.back().size == data;
  if (adjacent) {
    pieces_.back().size += size;
  } else {
    pieces_.push_back({data, size, tail_, nullptr});
    ++tail_->users;
  }
  tail_->used += static_cast<std::uint32_t>(size);
  size_ += size;
}

void BufferChain::append(std::string_view bytes) {
  while (!bytes.empty()) {
    if (tail_ == nullptr || tail_->used == block_bytes) take_block();
    const std::size_t part = std::min(bytes.size(), block_bytes - tail_->used);
    std::memcpy(tail_->bytes + tail_->used, bytes.data(), part);
    commit(part);
    bytes.remove_prefix(part);
  }
}

void BufferChain::append_shared(std::string_view bytes, std::shared_ptr<const void> owner) {
  if (bytes.empty()) return;
  pieces_.push_back({bytes.data(), bytes.size(), nullptr, std::move(owner)});
  size_ += bytes.size();
  ++shared_pieces_;
}

void BufferChain::append_mapped(std::string_view bytes, int descriptor, std::uint64_t offset,
                                std::shared_ptr<const void> owner) {
  if (bytes.empty()) return;
  append_shared(bytes, std::move(owner));
  pieces_.back().descriptor = descriptor;
  pieces_.back().offset = offset;
}

FileRange BufferChain::front_file() const noexcept {
  if (first_ == pieces_.size() || pieces_[first_].descriptor < 0) return {};
  const Piece& piece = pieces_[first_];
  return {piece.descriptor, piece.offset, piece.size};
}

std::size_t BufferChain::gather_before_file(std::span<iovec> out) const noexcept {
  const std::size_t count = gather(out);
  for (std::size_t i = 0; i < count; ++i) {
    if (pieces_[first_ + i].descriptor >= 0) return i;
  }
  return count;
}

std::string_view BufferChain::front() const noexcept {
  if (first_ == pieces_.size()) return {};
  return {pieces_[first_].data, pieces_[first_].size};
}

std::size_t BufferChain::gather(std::span<iovec> out) const noexcept {
  const std::size_t count = std::min(out.size(), pieces_.size() - first_);
  for (std::size_t i = 0; i < count; ++i) {
    const Piece& piece = pieces_[first_ + i];
    out[i] = {const_cast<char*>(piece.data), piece.size};
  }
  return count;
}

void BufferChain::consume(std::size_t size) noexcept {
  ASSERT(size <= size_);
  size_ -= size;
  while (size > 0) {
    Piece& piece = pieces_[first_];
    if (size < piece.size) {
      piece.data += size;
      piece.offset += size;
      piece.size -= size;
      break;
    }
    size -= piece.size;
    if (piece.block != nullptr) {
      release(piece.block);
    } else {
      --shared_pieces_;
      piece.owner.reset();
    }
    ++first_;
  }
  if (size_ == 0) {
    clear();
  } else if (first_ > 64 && first_ * 2 > pieces_.size()) {
    pieces_.erase(pieces_.begin(), pieces_.begin() + static_cast<std::ptrdiff_t>(first_));
    first_ = 0;
  }
}

void BufferChain::clear() noexcept {
  for (std::size_t i = first_; i < pieces_.size(); ++i) {
    if (pieces_[i].block != nullptr) release(pieces_[i].block);
  }
  pieces_.clear();
  first_ = 0;
  size_ = 0;
  shared_pieces_ = 0;
  if (tail_ != nullptr) release(std::exchange(tail_, nullptr));
}

}  // namespace h2server::base
