#include "base/memory/buffer_chain.h"

#include <algorithm>
#include <cstring>
#include <new>
#include <utility>

#include "base/assert.h"
#include "base/memory/memory_budget.h"

namespace h2server::base {

struct BufferChain::Block {
  std::uint32_t users;  // pieces in this block, plus one if it is a chain's tail
  std::uint32_t used;   // bytes
  std::size_t size;     // bytes
  Block* next_free;
  bool counted;  // as memory of clients

  [[nodiscard]] char* bytes() noexcept { return reinterpret_cast<char*>(this + 1); }
};

// A thread's free blocks of one size.
class BlockPool {
 public:
  using Block = BufferChain::Block;

  constexpr explicit BlockPool(std::size_t size) noexcept : size_(size) {}
  ~BlockPool() { free_spares(); }

  Block* take() {
    if (first_ == nullptr) return make();
    --count_;
    return std::exchange(first_, first_->next_free);
  }

  void give(Block* block) noexcept {
    if (count_ * size_ >= bytes_max) {
      free(block);
      return;
    }
    ++count_;
    block->next_free = std::exchange(first_, block);
  }

  void free_spares() noexcept {
    while (first_ != nullptr) free(std::exchange(first_, first_->next_free));
    count_ = 0;
  }

 private:
  // As many as may be spare are not what clients make the thread hold.
  Block* make() {
    const bool counted = uncounted_ * size_ >= bytes_max;
    if (counted) MemoryBudget::of_process().charge(MemoryOwner::buffers, sizeof(Block) + size_);
    else ++uncounted_;
    return ::new (::operator new(sizeof(Block) + size_))
        Block{.users = 0, .used = 0, .size = size_, .next_free = nullptr, .counted = counted};
  }

  void free(Block* block) noexcept {
    if (block->counted) {
      MemoryBudget::of_process().discharge(MemoryOwner::buffers, sizeof(Block) + size_);
    } else if (uncounted_ > 0) {  // 0: another thread's pool made it
      --uncounted_;
    }
    ::operator delete(block);
  }

  // The rest of a burst is freed.
  static constexpr std::size_t bytes_max = BufferChain::kept_bytes_max / 2;

  const std::size_t size_;
  Block* first_ = nullptr;
  std::size_t count_ = 0;
  std::size_t uncounted_ = 0;  // blocks, also those that are in use
};

namespace {
thread_local BlockPool blocks(BufferChain::block_bytes);
thread_local BlockPool small_blocks(BufferChain::small_block_bytes);
}  // namespace

// Gets a block with room for `size` bytes, or for as many as fit in one.
void BufferChain::take_block(std::size_t size) {
  const bool small =
      begin_ == Begin::small && empty() && tail_ == nullptr && size <= small_block_bytes;
  Block* const block = small ? small_blocks.take() : blocks.take();
  block->users = 1;
  block->used = 0;
  if (tail_ != nullptr) release(tail_);
  tail_ = block;
}

void BufferChain::release(Block* block) noexcept {
  if (--block->users > 0) return;
  (block->size == small_block_bytes ? small_blocks : blocks).give(block);
}

// In the tail, bytes.
std::size_t BufferChain::room() const noexcept {
  return tail_ != nullptr ? tail_->size - tail_->used : 0;
}

std::span<char> BufferChain::reserve(std::size_t size) {
  ASSERT(size <= block_bytes);
  if (room() < size || tail_ == nullptr) take_block(size);
  return {tail_->bytes() + tail_->used, size};
}

void BufferChain::commit(std::size_t size) {
  if (size == 0) return;
  char* const data = tail_->bytes() + tail_->used;
  ASSERT(room() >= size);
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
    if (room() == 0) take_block(bytes.size());
    const std::size_t part = std::min(bytes.size(), room());
    std::memcpy(tail_->bytes() + tail_->used, bytes.data(), part);
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

std::size_t BufferChain::bytes_held() const noexcept {
  std::size_t bytes = 0;
  const Block* counted = nullptr;
  const auto count = [&](const Block* block) {
    if (block == nullptr || block == counted) return;
    bytes += sizeof(Block) + block->size;
    counted = block;
  };
  for (std::size_t i = first_; i < pieces_.size(); ++i) count(pieces_[i].block);
  count(tail_);
  return bytes;
}

void BufferChain::free_spare_blocks() noexcept {
  blocks.free_spares();
  small_blocks.free_spares();
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
