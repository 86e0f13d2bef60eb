// The body of an upload: bytes that follow from their place alone, so a receiver can check them and
// nobody holds them. Byte i is (i * 131 + (i >> 8)) & 255, which repeats after 64 KiB: all uploads
// share one table, and its pieces go to the kernel uncopied.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace h2server::lab::load {

// At most `size_max` bytes of the pattern from `offset` on, never empty; of static storage.
[[nodiscard]] std::string_view pattern(std::uint64_t offset, std::size_t size_max) noexcept;

class Upload {
 public:
  struct Piece {
    std::string_view bytes;
    bool lasting;  // of static storage; else valid until the upload goes away
  };

  Upload() = default;
  // The pattern's first `pattern_bytes`, between two texts (multipart's delimiters).
  Upload(std::uint64_t pattern_bytes, std::string before, std::string after)
      : before_(std::move(before)), after_(std::move(after)), pattern_bytes_(pattern_bytes) {}

  [[nodiscard]] std::uint64_t size() const noexcept {
    return before_.size() + pattern_bytes_ + after_.size();
  }
  [[nodiscard]] std::uint64_t sent() const noexcept { return sent_; }
  [[nodiscard]] std::uint64_t left() const noexcept { return size() - sent_; }
  // The next piece, of 1 to `size_max` bytes; something must be left.
  [[nodiscard]] Piece take(std::size_t size_max);

 private:
  std::string before_;
  std::string after_;
  std::uint64_t pattern_bytes_ = 0;
  std::uint64_t sent_ = 0;
};

}  // namespace h2server::lab::load
