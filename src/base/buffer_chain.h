// Bytes on their way out: a queue of pieces, copied ones in pooled blocks and shared ones by
// address.
//
// One owner, one thread. Blocks come from a list of the thread and go back there as the bytes are
// consumed, so an idle connection holds none.
#pragma once

#include <sys/uio.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "base/file_range.h"

namespace h2server::base {

class BufferChain {
 public:
  static constexpr std::size_t block_bytes = 64 * 1024 - 16;  // three HTTP/2 frames of 16 KiB

  BufferChain() = default;
  BufferChain(const BufferChain&) = delete;
  BufferChain& operator=(const BufferChain&) = delete;
  ~BufferChain() { clear(); }

  void swap(BufferChain& other) noexcept {
    pieces_.swap(other.pieces_);
    std::swap(first_, other.first_);
    std::swap(tail_, other.tail_);
    std::swap(size_, other.size_);
    std::swap(shared_pieces_, other.shared_pieces_);
  }

  [[nodiscard]] std::size_t size() const noexcept { return size_; }
  [[nodiscard]] bool empty() const noexcept { return size_ == 0; }
  // Whether some of the bytes are shared ones.
  [[nodiscard]] bool has_shared() const noexcept { return shared_pieces_ > 0; }

  // Copies.
  void append(std::string_view bytes);
  // Contiguous room for `size` bytes, at most block_bytes; nothing is appended until commit().
  [[nodiscard]] std::span<char> reserve(std::size_t size);
  // Appends the first `size` bytes of the room that reserve() gave last.
  void commit(std::size_t size);
  // Does not copy: `owner` keeps `bytes` alive and unchanged until they are consumed.
  void append_shared(std::string_view bytes, std::shared_ptr<const void> owner);

  // As append_shared(), of bytes of a mapped file that begin at `offset` of `descriptor`, which
  // `owner` keeps open: who can send them from there may do so.
  void append_mapped(std::string_view bytes, int descriptor, std::uint64_t offset,
                     std::shared_ptr<const void> owner);

  // The part of a file that the first bytes are, if they were appended so.
  [[nodiscard]] base::FileRange front_file() const noexcept;
  // As gather(), up to the first piece that front_file() would name.
  [[nodiscard]] std::size_t gather_before_file(std::span<iovec> out) const noexcept;

  // The first contiguous bytes.
  [[nodiscard]] std::string_view front() const noexcept;
  [[nodiscard]] std::size_t pieces() const noexcept { return pieces_.size() - first_; }
  // Fills `out` with as many pieces as fit and returns how many.
  [[nodiscard]] std::size_t gather(std::span<iovec> out) const noexcept;
  // Drops the first `size` bytes.
  void consume(std::size_t size) noexcept;
  void clear() noexcept;

 private:
  struct Block;
  struct Piece {
    const char* data;
    std::size_t size;
    Block* block;  // counts this piece as a user; null for shared bytes
    std::shared_ptr<const void> owner;
    int descriptor = -1;  // of the file in which the bytes lie
    std::uint64_t offset = 0;
  };
  friend class BlockPool;

  void take_block();
  static void release(Block* block) noexcept;

  std::vector<Piece> pieces_;
  std::size_t first_ = 0;  // of pieces_; those before it are consumed
  Block* tail_ = nullptr;  // where the next copy goes; counted as a user of the block
  std::size_t size_ = 0;
  std::size_t shared_pieces_ = 0;
};

}  // namespace h2server::base
