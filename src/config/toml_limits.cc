#include "config/toml_limits.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <string>

namespace h2server::config {

namespace {

// Goes over the text token by token. Each skip_…() ends behind what it skips.
class Scan {
 public:
  explicit Scan(std::string_view text) noexcept : text_(text) {}

  std::optional<TomlProblem> run();

 private:
  void skip_comment() noexcept;
  void skip_string(char quote) noexcept;
  void skip_line_string(char quote) noexcept;
  void skip_lines_string(char quote) noexcept;
  void begin_key() noexcept { dots_ = 0; }

  const std::string_view text_;
  std::size_t at_ = 0;
  std::uint32_t line_ = 1;
  std::size_t dots_ = 0;   // of the present key, or of a number
  std::size_t depth_ = 0;  // brackets and braces that are open
};

std::optional<TomlProblem> Scan::run() {
  while (at_ < text_.size()) {
    const char c = text_[at_];
    if (c == '#') {
      skip_comment();
      continue;
    }
    if (c == '"' || c == '\'') {
      skip_string(c);
      continue;
    }
    ++at_;
    if (c == '\n') ++line_;
    if (c == '\n' || c == '=' || c == ',') begin_key();
    if (c == '.' && ++dots_ > key_dots_max) {
      return TomlProblem{.line = line_,
                         .what = fmt::format("a key with more than {} dots", key_dots_max)};
    }
    if (c == '[' || c == '{') {
      begin_key();
      if (++depth_ > nesting_max) {
        return TomlProblem{
            .line = line_,
            .what = fmt::format("arrays and tables nested more than {} deep", nesting_max)};
      }
    }
    if ((c == ']' || c == '}') && depth_ > 0) --depth_;
  }
  return std::nullopt;
}

void Scan::skip_comment() noexcept { at_ = std::min(text_.find('\n', at_), text_.size()); }

void Scan::skip_string(char quote) noexcept {
  if (text_.substr(at_, 3) == std::string(3, quote)) skip_lines_string(quote);
  else skip_line_string(quote);
}

// Ends at the end of the line at the latest: there a parser stops.
void Scan::skip_line_string(char quote) noexcept {
  for (++at_; at_ < text_.size() && text_[at_] != '\n'; ++at_) {
    if (text_[at_] == quote) {
      ++at_;
      return;
    }
    const bool escapes = quote == '"' && text_[at_] == '\\';
    if (escapes && at_ + 1 < text_.size() && text_[at_ + 1] != '\n') ++at_;
  }
}

void Scan::skip_lines_string(char quote) noexcept {
  std::size_t quotes = 0;  // in a row
  for (at_ += 3; at_ < text_.size(); ++at_) {
    const char c = text_[at_];
    if (c != quote && quotes >= 3) return;
    quotes = c == quote ? quotes + 1 : 0;
    if (quotes == 5) break;  // the string ends with two of them
    if (c == '\n') ++line_;
    if (c == '\\' && quote == '"') {
      ++at_;
      if (at_ < text_.size() && text_[at_] == '\n') ++line_;
    }
  }
  at_ = std::min(at_ + 1, text_.size());
}

}  // namespace

std::optional<TomlProblem> find_excess(std::string_view text) { return Scan(text).run(); }

}  // namespace h2server::config
