// Output queue of one connection: bytes written here, and references to memory that outlives it.
// Does no I/O. A loop keeps a pool of them, and a connection holds one only while it sends. A
// thousand idle connections therefore share one buffer that stays in the processor's cache.
#pragma once

#include <sys/uio.h>

#include <cstddef>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

namespace h2server::lab::floor {

class Output {
 public:
  // Returns memory for `bytes` more bytes. Write all of them before the next call.
  char* room(std::size_t bytes);
  void copy(std::string_view bytes);
  void refer(std::string_view bytes);

  // Bytes still to send.
  [[nodiscard]] std::size_t bytes() const noexcept { return bytes_; }
  // Returns the unsent bytes in order, as much as one sendmsg() takes. Valid until a change.
  [[nodiscard]] std::span<iovec> pieces();
  void sent(std::size_t bytes);
  void clear() noexcept;

 private:
  struct Piece {
    const char* fixed;   // null if in memory_
    std::size_t offset;  // in memory_
    std::size_t bytes;
  };

  std::size_t bytes_ = 0;
  std::size_t used_ = 0;  // bytes of memory_
  std::size_t capacity_ = 0;
  std::unique_ptr<char[]> memory_;
  std::vector<Piece> pieces_;
  std::size_t first_ = 0;  // first unsent element of pieces_
  std::vector<iovec> vectors_;
};

// LIFO pool: the most recently released output has the warmest memory.
class OutputPool {
 public:
  [[nodiscard]] std::unique_ptr<Output> take();
  void give_back(std::unique_ptr<Output> output);

 private:
  std::vector<std::unique_ptr<Output>> free_;
};

}  // namespace h2server::lab::floor
