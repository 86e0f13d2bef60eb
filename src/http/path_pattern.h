// PathPattern: a pattern of paths with '*', "**" and '?', see HeaderRule. Immutable, any thread.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

namespace h2server::http {

class PathPattern {
 public:
  // `pattern` begins with '/'.
  explicit PathPattern(std::string_view pattern);

  // What the first nine '*' and "**" have matched, in their order: parts of the path.
  using Captures = std::array<std::string_view, 9>;

  // Does not allocate. Takes time proportional to the product of both lengths. If it matches, fills
  // `captures`, which may be null.
  [[nodiscard]] bool matches(std::string_view path, Captures* captures = nullptr) const noexcept;
  // Returns how many wildcards there are, at most nine.
  [[nodiscard]] std::size_t captures() const noexcept { return captures_; }

 private:
  enum class Kind : std::uint8_t {
    literal,
    one,      // '?'
    within,   // '*'
    any,      // "**"
    folders,  // "**/" behind '/': nothing, or text that ends with '/'
  };
  struct Token {
    Kind kind = Kind::literal;
    char literal = '\0';
    std::uint8_t capture = no_capture;  // of a wildcard: its index in Captures
  };
  static constexpr std::uint8_t no_capture = 9;
  struct Resume;
  class Taken;

  static bool take(const Token& token, std::string_view path, std::size_t& position) noexcept;

  std::vector<Token> tokens_;
  std::uint8_t captures_ = 0;
};

}  // namespace h2server::http
