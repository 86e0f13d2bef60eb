#include "multipart_reference.h"

#include <algorithm>
#include <optional>

namespace h2server::fuzz {

namespace {

using End = MultipartReference::End;

// What a candidate delimiter is, judged by the bytes after it.
enum class Kind { content, part, closing, malformed, incomplete };

struct Delimiter {
  Kind kind = Kind::content;
  std::size_t begin = 0;     // offset in the text, including the CRLF before it
  std::size_t line_end = 0;  // of a part: offset of the CRLF that ends its line
};

class Splitter {
 public:
  // A CRLF before the body makes all delimiters alike.
  Splitter(std::string_view boundary, std::string_view body)
      : text_(std::string("\r\n").append(body)),
        delimiter_(std::string("\r\n--").append(boundary)) {}

  [[nodiscard]] std::string_view text() const { return text_; }

  // Returns the first true delimiter at or after `from`, skipping content that only resembles one.
  [[nodiscard]] std::optional<Delimiter> find(std::size_t from) const {
    for (std::size_t at = text_.find(delimiter_, from); at != std::string::npos;
         at = text_.find(delimiter_, at + 1)) {
      const Delimiter found = judge(at);
      if (found.kind != Kind::content) return found;
    }
    return std::nullopt;
  }

  // Returns the offset, at least `from`, of trailing bytes that may begin a delimiter.
  [[nodiscard]] std::size_t held_back(std::size_t from) const {
    const std::string_view tail = text().substr(from);
    std::size_t size = std::min(tail.size(), delimiter_.size() - 1);
    while (!tail.ends_with(std::string_view(delimiter_).substr(0, size))) --size;
    return text_.size() - size;
  }

 private:
  // RFC 2046, 5.1.1: "--", or transport padding and a line's end.
  [[nodiscard]] Delimiter judge(std::size_t at) const {
    const std::string_view after = text().substr(at + delimiter_.size());
    if (after.empty() || after == "-") return {Kind::incomplete, at};
    if (after.starts_with("--")) return {Kind::closing, at};
    const std::size_t padding = std::min(after.find_first_not_of(" \t"), after.size());
    const std::string_view rest = after.substr(padding);
    if (rest.empty() || rest == "\r") return {Kind::incomplete, at};
    if (rest.starts_with("\r\n")) {
      return {Kind::part, at, at + delimiter_.size() + padding};
    }
    const bool other = padding == 0 && rest[0] != '\r';
    return {other ? Kind::content : Kind::malformed, at};
  }

  const std::string text_;
  const std::string delimiter_;
};

// Returns the head that follows the CRLF at `line_end`, empty if there is none.
std::string_view head_at(std::string_view text, std::size_t line_end,
                         content::MultipartLimits limits) {
  const std::size_t end = text.find("\r\n\r\n", line_end);
  if (end == std::string_view::npos) return {};
  const std::string_view head = text.substr(line_end + 2, end + 2 - line_end);
  if (head.size() > limits.head_bytes_max) return {};
  for (std::size_t i = 0; i < head.size(); ++i) {
    if (head[i] == '\n' && (i == 0 || head[i - 1] != '\r')) return {};
  }
  return head;
}

// Returns the content between the CRLF at `start` and `end`.
std::string content_up_to(std::string_view text, std::size_t start, std::size_t end) {
  return std::string(end > start + 2 ? text.substr(start + 2, end - start - 2) : "");
}

End end_of(Kind kind) {
  switch (kind) {
    case Kind::closing:
      return End::finished;
    case Kind::malformed:
      return End::malformed;
    case Kind::incomplete:
      return End::delimiter_incomplete;
    case Kind::content:
    case Kind::part:
      break;
  }
  return End::content_incomplete;
}

}  // namespace

MultipartReference split_multipart(std::string_view boundary, std::string_view body,
                                   content::MultipartLimits limits) {
  const Splitter splitter(boundary, body);
  const std::string_view text = splitter.text();
  MultipartReference result;
  std::size_t start = 0;  // offset of the CRLF before content or preamble
  for (;;) {
    const std::optional<Delimiter> found = splitter.find(start);
    if (!result.parts.empty()) {
      MultipartReference::Part& part = result.parts.back();
      part.content = content_up_to(text, start, found ? found->begin : splitter.held_back(start));
      part.ended = found && (found->kind == Kind::part || found->kind == Kind::closing);
    }
    if (!found) return result;
    if (found->kind != Kind::part) {
      result.end = end_of(found->kind);
      return result;
    }
    const std::string_view head = head_at(text, found->line_end, limits);
    if (head.empty()) {
      result.end = End::head_incomplete;
      return result;
    }
    result.parts.emplace_back();
    start = found->line_end + head.size();
  }
}

}  // namespace h2server::fuzz
