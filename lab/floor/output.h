// What leaves by one connection: bytes written here, and references to memory that outlives it.
// It sends nothing itself. A loop keeps a pool of them, and a connection has one only while it
// sends: so a thousand quiet connections share one buffer that stays in the processor's cache.
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
  // Memory for `bytes` more bytes; all of them must be written, before anything else is called.
  char* room(std::size_t bytes);
  void copy(std::string_view bytes);
  void refer(std::string_view bytes);

  // What is left to send.
  [[nodiscard]] std::size_t bytes() const noexcept { return bytes_; }
  // Where it lies, in order, as much as one sendmsg() takes. Valid until anything is added or sent.
  [[nodiscard]] std::span<iovec> pieces();
  void sent(std::size_t bytes);
  void clear() noexcept;

 private:
  struct Piece {
    const char* fixed;   // null: in memory_
    std::size_t offset;  // of memory_
    std::size_t bytes;
  };

  std::size_t bytes_ = 0;
  std::size_t used_ = 0;  // of memory_
  std::size_t capacity_ = 0;
  std::unique_ptr<char[]> memory_;
  std::vector<Piece> pieces_;
  std::size_t first_ = 0;  // of pieces_; those before it were sent
  std::vector<iovec> vectors_;
};

// Gives out the one that was given back last: its memory is the warmest.
class OutputPool {
 public:
  [[nodiscard]] std::unique_ptr<Output> take();
  void give_back(std::unique_ptr<Output> output);

 private:
  std::vector<std::unique_ptr<Output>> free_;
};

}  // namespace h2server::lab::floor
