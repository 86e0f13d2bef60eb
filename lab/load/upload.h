// Body of an upload. Each byte depends only on its offset, so a receiver can verify it and no body
// is stored. Byte i is (i * 131 + (i >> 8)) & 255, which repeats after 64 KiB: all uploads share
// one table, and its pieces are passed to the kernel without a copy.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace h2server::lab::load {

// Returns 1 to `size_max` bytes of the pattern from `offset`. Static storage.
[[nodiscard]] std::string_view pattern(std::uint64_t offset, std::size_t size_max) noexcept;

class Upload {
 public:
  struct Piece {
    std::string_view bytes;
    bool lasting;  // in static storage; else valid until the upload is destroyed
  };

  Upload() = default;
  // The first `pattern_bytes` of the pattern between two texts (multipart delimiters).
  Upload(std::uint64_t pattern_bytes, std::string before, std::string after)
      : before_(std::move(before)), after_(std::move(after)), pattern_bytes_(pattern_bytes) {}

  [[nodiscard]] std::uint64_t size() const noexcept {
    return before_.size() + pattern_bytes_ + after_.size();
  }
  [[nodiscard]] std::uint64_t sent() const noexcept { return sent_; }
  [[nodiscard]] std::uint64_t left() const noexcept { return size() - sent_; }
  // Returns the next piece, 1 to `size_max` bytes. left() must not be 0.
  [[nodiscard]] Piece take(std::size_t size_max);

 private:
  std::string before_;
  std::string after_;
  std::uint64_t pattern_bytes_ = 0;
  std::uint64_t sent_ = 0;
};

}  // namespace h2server::lab::load
