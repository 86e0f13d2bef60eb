// BufferChain: a queue of output bytes. Copied bytes lie in pooled blocks; shared bytes are
// referenced by address.
//
// One owner, one thread. Blocks come from free lists of the thread and return to them as the bytes
// are consumed, so an idle connection holds none. Counted as memory of
// buffers beyond what a thread may have spare.
#pragma once

#include <sys/uio.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

namespace h2server::base {

// FileRange: a part of a file that the kernel can read on its own. Does not own the descriptor.
struct FileRange {
  int descriptor = -1;
  std::uint64_t offset = 0;
  std::size_t size = 0;  // bytes; 0: no file
};

class BufferChain {
 public:
  static constexpr std::size_t block_bytes = 64 * 1024 - 32;  // fits three HTTP/2 frames of 16 KiB
  static constexpr std::size_t small_block_bytes = 1024 - 32;
  // Blocks that a thread keeps, in bytes, half of them for each of the two sizes. The budget for
  // clients does not count them.
  static constexpr std::size_t kept_bytes_max = 4 * 1024 * 1024;

  // large: each block has block_bytes. small: the first block is small if few bytes come first,
  // since thousands of connections may have a little to send in one turn.
  enum class Begin : bool { large, small };

  explicit BufferChain(Begin begin = Begin::large) noexcept : begin_(begin) {}
  BufferChain(const BufferChain&) = delete;
  BufferChain& operator=(const BufferChain&) = delete;
  ~BufferChain() { clear(); }

  // Both must begin alike.
  void swap(BufferChain& other) noexcept {
    pieces_.swap(other.pieces_);
    std::swap(first_, other.first_);
    std::swap(tail_, other.tail_);
    std::swap(size_, other.size_);
    std::swap(shared_pieces_, other.shared_pieces_);
  }

  [[nodiscard]] std::size_t size() const noexcept { return size_; }
  [[nodiscard]] bool empty() const noexcept { return size_ == 0; }
  // Returns true if some of the bytes are shared.
  [[nodiscard]] bool has_shared() const noexcept { return shared_pieces_ > 0; }

  // Copies `bytes`.
  void append(std::string_view bytes);
  // Returns contiguous room for `size` bytes, at most block_bytes. Appends nothing until commit().
  // Ask for what follows, too, if that is known.
  [[nodiscard]] std::span<char> reserve(std::size_t size);
  // Appends the first `size` bytes of the room that the last reserve() returned.
  void commit(std::size_t size);
  // Does not copy. `owner` keeps `bytes` alive and unchanged until they are consumed.
  void append_shared(std::string_view bytes, std::shared_ptr<const void> owner);

  // As append_shared(), for bytes of a mapped file that start at `offset` of `descriptor`. `owner`
  // keeps the descriptor open. The sender may send the bytes from the descriptor instead.
  void append_mapped(std::string_view bytes, int descriptor, std::uint64_t offset,
                     std::shared_ptr<const void> owner);

  // Returns the file range of the first piece, or an empty range if append_mapped() did not add it.
  [[nodiscard]] base::FileRange front_file() const noexcept;
  // As gather(), but stops before the first piece that append_mapped() added.
  [[nodiscard]] std::size_t gather_before_file(std::span<iovec> out) const noexcept;

  // Returns the first contiguous bytes.
  [[nodiscard]] std::string_view front() const noexcept;
  [[nodiscard]] std::size_t pieces() const noexcept { return pieces_.size() - first_; }
  // Fills `out` with as many pieces as fit and returns their number.
  [[nodiscard]] std::size_t gather(std::span<iovec> out) const noexcept;
  // Drops the first `size` bytes.
  void consume(std::size_t size) noexcept;
  void clear() noexcept;

  // Returns the bytes of its blocks, each whole. Looks at every piece.
  [[nodiscard]] std::size_t bytes_held() const noexcept;
  // Frees the spare blocks of this thread.
  static void free_spare_blocks() noexcept;

 private:
  struct Block;
  struct Piece {
    const char* data;
    std::size_t size;
    Block* block;  // counts this piece as a user; null for shared bytes
    std::shared_ptr<const void> owner;
    int descriptor = -1;  // file that holds the bytes; -1: none
    std::uint64_t offset = 0;
  };
  friend class BlockPool;

  [[nodiscard]] std::size_t room() const noexcept;
  void take_block(std::size_t size);
  static void release(Block* block) noexcept;

  const Begin begin_;
  std::vector<Piece> pieces_;
  std::size_t first_ = 0;  // index into pieces_; earlier pieces are consumed
  Block* tail_ = nullptr;  // where the next copy goes; counted as a user of the block
  std::size_t size_ = 0;
  std::size_t shared_pieces_ = 0;
};

}  // namespace h2server::base
