// PathRewrites and what they have in common with redirects(): patterns whose wildcards can be
// referred to. Immutable once made, any thread.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/memory/arena.h"
#include "h2server/path_rules.h"
#include "h2server/result.h"
#include "http/path_pattern.h"

namespace h2server::http {

// "/new/$1": text with references to captures.
class PathTemplate {
 public:
  // The error says what is wrong. `captures` is the number of wildcards that can be referred to.
  static Result<PathTemplate, std::string> parse(std::string_view text, std::size_t captures);

  enum class Escaping : bool { none, percent };
  // Appends the text with the captures in place.
  void expand(const PathPattern::Captures& captures, Escaping escaping, std::string& out) const;

 private:
  struct Piece {
    std::string text;       // literal
    std::size_t capture{};  // appended behind the text: 1 to 9; 0: none
  };
  std::vector<Piece> pieces_;
};

class PathRewrites {
 public:
  PathRewrites() = default;
  // The error says what is wrong with which rule.
  static Result<PathRewrites, std::string> make(const std::vector<Rewrite>& rules);

  [[nodiscard]] bool empty() const noexcept { return rules_.empty(); }
  // Returns the path in the arena that the first matching rule leads to, or nullopt. It is to be
  // checked: what clients send may have become ".." segments.
  [[nodiscard]] std::optional<std::string_view> apply(std::string_view path,
                                                      base::Arena& arena) const;

 private:
  struct Rule {
    PathPattern from;
    PathTemplate to;
  };
  std::vector<Rule> rules_;
};

}  // namespace h2server::http
