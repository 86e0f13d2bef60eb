// PathPattern: a pattern of paths with '*', "**" and '?', see HeaderRule. Immutable, any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

namespace h2server::http {

class PathPattern {
 public:
  // `pattern` begins with '/'.
  explicit PathPattern(std::string_view pattern);

  // Does not allocate. Takes time proportional to the product of both lengths.
  [[nodiscard]] bool matches(std::string_view path) const noexcept;

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
  };
  struct Resume;

  static bool take(const Token& token, std::string_view path, std::size_t& position) noexcept;

  std::vector<Token> tokens_;
};

}  // namespace h2server::http
