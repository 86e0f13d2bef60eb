// Memory of one exchange: taken piece by piece, given back all at once.
//
// Not thread-safe. The first block stays when the arena is cleared, so a warm exchange allocates
// nothing.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

namespace h2server::base {

class Arena {
 public:
  // `size` bytes without alignment, valid until clear().
  std::span<char> take(std::size_t size);
  // A copy of `bytes`, valid until clear().
  std::string_view copy(std::string_view bytes);
  void clear() noexcept;

  [[nodiscard]] std::size_t bytes_held() const noexcept;

 private:
  static constexpr std::size_t block_bytes = 2048;  // the head of a browser's request fits

  struct Block {
    std::unique_ptr<char[]> bytes;
    std::size_t size = 0;
  };
  std::vector<Block> blocks_;
  std::size_t used_ = 0;  // of the last block
};

}  // namespace h2server::base
