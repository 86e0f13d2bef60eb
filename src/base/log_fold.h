// LogFold: counts lines that repeat the one before them. Memory is fixed, and no clock is read. Not
// thread-safe.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace h2server::base {

class LogFold {
 public:
  static constexpr std::int64_t window_ms = 10'000;
  static constexpr std::size_t bytes_max = 1024;  // a longer line is never counted

  // A line that was counted, and how often since it was written.
  struct Repeated {
    std::uint8_t kind = 0;
    std::string_view text;  // valid until the next call of written()
    std::uint64_t times = 0;
  };

  // Returns true if the line is counted and not to be written: it repeats what was written less
  // than window_ms ago. `kind` distinguishes lines of the same text.
  [[nodiscard]] bool counts(std::uint8_t kind, std::string_view text, std::int64_t now_ms) noexcept;
  // Takes what was counted, to be written before the next line. `times` may be 0.
  [[nodiscard]] Repeated take() noexcept;
  // Says that the line was written.
  void written(std::uint8_t kind, std::string_view text, std::int64_t now_ms) noexcept;
  // Says that it could not be.
  void forget() noexcept { known_ = false; }

  // Returns true if something was counted and the time for it is over.
  [[nodiscard]] bool is_due(std::int64_t now_ms) const noexcept {
    return times_ > 0 && now_ms - since_ms_ >= window_ms;
  }

 private:
  [[nodiscard]] std::string_view text() const noexcept { return {text_.data(), bytes_}; }

  bool known_ = false;
  std::uint8_t kind_ = 0;
  std::uint64_t times_ = 0;
  std::int64_t since_ms_ = 0;
  std::size_t bytes_ = 0;
  std::array<char, bytes_max> text_{};
};

}  // namespace h2server::base
