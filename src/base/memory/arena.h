// Arena: memory for one exchange, allocated piece by piece and released all at once.
//
// Not thread-safe. clear() keeps room for as much as was taken before, up to a limit, so a warm
// exchange allocates nothing. Counted as memory of requests.
#pragma once

#include <cstddef>
#include <cstring>
#include <memory>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

namespace h2server::base {

class Arena {
 public:
  Arena() = default;
  // Swaps both.
  Arena& operator=(Arena&& other) noexcept {
    blocks_.swap(other.blocks_);
    std::swap(block_bytes_, other.block_bytes_);
    std::swap(next_, other.next_);
    std::swap(end_, other.end_);
    std::swap(held_, other.held_);
    return *this;
  }
  ~Arena() { count(0); }

  // Returns `size` unaligned bytes, valid until clear().
  std::span<char> take(std::size_t size) {
    if (static_cast<std::size_t>(end_ - next_) < size) add_block(size);
    char* const first = next_;
    next_ += size;
    return {first, size};
  }
  // Returns a copy of `bytes`, valid until clear().
  std::string_view copy(std::string_view bytes) {
    if (bytes.empty()) return {};
    const std::span<char> room = take(bytes.size());
    std::memcpy(room.data(), bytes.data(), bytes.size());
    return {room.data(), room.size()};
  }
  void clear() noexcept;

  // Returns the bytes of all blocks.
  [[nodiscard]] std::size_t bytes_held() const noexcept { return held_; }

 private:
  static constexpr std::size_t block_bytes_min = 256;
  static constexpr std::size_t block_bytes_max = 2048;  // fits the head of a browser's request

  struct Block {
    std::unique_ptr<char[]> bytes;
    std::size_t size = 0;
  };
  void add_block(std::size_t size);
  void count(std::size_t held) noexcept;

  std::vector<Block> blocks_;
  std::size_t block_bytes_ = block_bytes_min;  // of the next block, at least
  char* next_ = nullptr;                       // in the last block
  char* end_ = nullptr;
  std::size_t held_ = 0;  // bytes of all blocks
};

}  // namespace h2server::base
