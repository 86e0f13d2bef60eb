// How the bytes of an input arrive: whole, one at a time, or in pieces of pseudo-random sizes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>

namespace h2server::fuzz {

class Cuts {
 public:
  static Cuts whole() noexcept { return {Kind::whole, 0}; }
  static Cuts single_bytes() noexcept { return {Kind::single_bytes, 0}; }
  // The last eight bytes of the input seed the sizes. So an input needs no extra bytes, and
  // mutating its end changes the cuts.
  static Cuts chosen_by(std::string_view input) noexcept;

  // Returns the size of the next piece: 1 to `left`, or 0 if `left` is 0. `left` counts the bytes
  // that have not arrived.
  [[nodiscard]] std::size_t next(std::size_t left) noexcept;
  [[nodiscard]] bool are_single_bytes() const noexcept { return kind_ == Kind::single_bytes; }

 private:
  enum class Kind : std::uint8_t { whole, single_bytes, chosen };
  Cuts(Kind kind, std::uint64_t state) noexcept : kind_(kind), state_(state) {}

  Kind kind_;
  std::uint64_t state_;  // of the random number generator
};

// A heap copy of exactly the given size, so that ASan detects every access outside it.
class ExactCopy {
 public:
  explicit ExactCopy(std::string_view bytes);
  [[nodiscard]] std::string_view view() const noexcept { return {bytes_.get(), size_}; }

 private:
  std::unique_ptr<char[]> bytes_;
  std::size_t size_;
};

}  // namespace h2server::fuzz
