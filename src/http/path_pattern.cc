#include "http/path_pattern.h"

#include <algorithm>
#include <cstddef>

#include "base/assert.h"

namespace h2server::http {

namespace {

// Returns the size of the UTF-8 character at the start of `text`, which is not empty.
std::size_t character_size(std::string_view text) noexcept {
  std::size_t size = 1;
  while (size < text.size() && (static_cast<unsigned char>(text[size]) & 0xc0) == 0x80) ++size;
  return size;
}

}  // namespace

// Where the search goes on when the tokens behind a wildcard do not match: it takes more text.
struct PathPattern::Resume {
  const Token* next = nullptr;  // behind the wildcard; null: there was none
  Kind kind = Kind::any;
  std::uint8_t capture = no_capture;
  std::size_t position = 0;  // in the path, behind what the wildcard has taken

  // Returns false if it can't take more.
  bool take_more(std::string_view path) noexcept {
    if (next == nullptr || position >= path.size()) return false;
    if (kind == Kind::within && path[position] == '/') return false;
    if (kind == Kind::folders) {
      position = path.find('/', position);
      if (position == std::string_view::npos) return false;
    }
    ++position;
    return true;
  }
};

// Notes where what wildcards take begins and ends. A later wildcard begins anew whenever an earlier
// one takes more.
class PathPattern::Taken {
 public:
  Taken(std::string_view path, Captures* captures) noexcept : path_(path), captures_(captures) {}

  void begin(std::uint8_t capture, std::size_t position) noexcept {
    if (captures_ == nullptr || capture == no_capture) return;
    (*captures_)[capture] = path_.substr(position, 0);
  }
  void end(const Resume& wildcard) noexcept {
    if (captures_ == nullptr || wildcard.capture == no_capture) return;
    std::string_view& captured = (*captures_)[wildcard.capture];
    captured = {captured.data(),
                wildcard.position - static_cast<std::size_t>(captured.data() - path_.data())};
  }

 private:
  std::string_view path_;
  Captures* captures_;
};

PathPattern::PathPattern(std::string_view pattern) {
  ASSERT(pattern.starts_with('/'));
  for (std::size_t i = 0; i < pattern.size(); ++i) {
    const std::string_view rest = pattern.substr(i);
    if (rest.starts_with("**/") && i > 0 && pattern[i - 1] == '/') {
      tokens_.push_back({.kind = Kind::folders});
      i += 2;
    } else if (rest.starts_with("**")) {
      tokens_.push_back({.kind = Kind::any});
      ++i;
    } else if (rest.starts_with('*')) {
      tokens_.push_back({.kind = Kind::within});
    } else if (rest.starts_with('?')) {
      tokens_.push_back({.kind = Kind::one});
    } else {
      tokens_.push_back({.kind = Kind::literal, .literal = rest.front()});
    }
    Token& token = tokens_.back();
    const bool wild = token.kind != Kind::literal && token.kind != Kind::one;
    if (wild && captures_ < no_capture) token.capture = captures_++;
  }
}

// Matches a literal or '?', and moves behind it.
bool PathPattern::take(const Token& token, std::string_view path, std::size_t& position) noexcept {
  if (position == path.size()) return false;
  const char c = path[position];
  if (token.kind == Kind::one ? c == '/' : c != token.literal) return false;
  position += token.kind == Kind::one ? character_size(path.substr(position)) : 1;
  return true;
}

// Only the last wildcard of each reach may have to take more: what is in front of a "**" has
// matched, and a '*' can't reach into the next segment, while one behind it in the same segment
// can take whatever it would. For the same reason, when all has failed behind the first '*' after a
// "**", the "**" need not try again to begin it in the same segment. So a client's path can't make
// this take quadratic time.
bool PathPattern::matches(std::string_view path, Captures* captures) const noexcept {
  Taken taken(path, captures);
  const Token* token = tokens_.data();
  const Token* const end = token + tokens_.size();
  std::size_t position = 0;
  Resume across;
  Resume within;
  const Token* first = nullptr;  // the first '*' behind `across`, once it was reached
  std::size_t failed_until = 0;  // the end of the segment in which it failed; 0: of none
  std::size_t segment_end = 0;   // of the segment in which it began
  for (;;) {
    if (token == end && position == path.size()) return true;
    const bool wild = token != end && token->kind != Kind::literal && token->kind != Kind::one;
    if (wild && token->kind == Kind::within) {
      if (first == nullptr) {
        first = token;
        segment_end = std::min(path.find('/', position), path.size());
      }
      within = {
          .next = token + 1, .kind = token->kind, .capture = token->capture, .position = position};
      taken.begin(token->capture, position);
      const bool hopeless = first == token && segment_end == failed_until;
      if (!hopeless) {
        ++token;
        continue;
      }
      within = {};
    } else if (wild) {
      across = {
          .next = token + 1, .kind = token->kind, .capture = token->capture, .position = position};
      taken.begin(token->capture, position);
      within = {};
      first = nullptr;
      failed_until = 0;
      ++token;
      continue;
    } else if (token != end && take(*token, path, position)) {
      ++token;
      continue;
    }
    if (within.take_more(path)) {
      taken.end(within);
      token = within.next;
      position = within.position;
      continue;
    }
    if (!across.take_more(path)) return false;
    taken.end(across);
    if (first != nullptr) failed_until = segment_end;
    first = nullptr;
    within = {};
    token = across.next;
    position = across.position;
  }
}

}  // namespace h2server::http
