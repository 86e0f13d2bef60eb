#include "chunked_reference.h"

#include <algorithm>
#include <cctype>
#include <cstdint>
#include <optional>

#include "http/fields/trailers.h"

namespace h2server::fuzz {

namespace {

constexpr std::size_t size_digits_max = 16;  // the decoder's limits
constexpr std::uint64_t chunk_bytes_end = std::uint64_t{1} << 60;

constexpr std::string_view hex_digits = "0123456789abcdefABCDEF";
constexpr std::string_view token_characters =
    "!#$%&'*+-.^_`|~0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";

// Removes a line with its CRLF from the front. Returns the line without it.
std::optional<std::string_view> take_line(std::string_view& bytes) {
  const std::size_t end = bytes.find("\r\n");
  if (end == std::string_view::npos) return std::nullopt;
  const std::string_view line = bytes.substr(0, end);
  bytes.remove_prefix(end + 2);
  return line;
}

bool is_text(std::string_view text) {
  return std::ranges::all_of(text, [](char c) {
    const auto byte = static_cast<unsigned char>(c);
    return byte == '\t' || (byte >= 0x20 && byte != 0x7f);
  });
}

void skip_blanks(std::string_view& text) {
  text.remove_prefix(std::min(text.find_first_not_of(" \t"), text.size()));
}

bool take_token(std::string_view& text) {
  const std::size_t size = std::min(text.find_first_not_of(token_characters), text.size());
  text.remove_prefix(size);
  return size > 0;
}

// RFC 9110, 5.6.4: DQUOTE *( qdtext / quoted-pair ) DQUOTE.
bool take_quoted(std::string_view& text) {
  for (std::size_t i = 1; i < text.size(); ++i) {
    if (text[i] == '"') {
      text.remove_prefix(i + 1);
      return true;
    }
    if (text[i] == '\\') ++i;
  }
  return false;
}

// RFC 9112, 7.1.1: *( BWS ";" BWS name [ BWS "=" BWS ( token / quoted-string ) ] ).
bool is_extensions(std::string_view text) {
  while (!text.empty()) {
    skip_blanks(text);
    if (!text.starts_with(';')) return false;
    text.remove_prefix(1);
    skip_blanks(text);
    if (!take_token(text)) return false;
    std::string_view value = text;
    skip_blanks(value);
    if (!value.starts_with('=')) continue;
    text = value.substr(1);
    skip_blanks(text);
    if (!(text.starts_with('"') ? take_quoted(text) : take_token(text))) return false;
  }
  return true;
}

// chunk-size [ chunk-ext ]
std::optional<std::uint64_t> read_chunk_line(std::string_view line) {
  const std::size_t digits = std::min(line.find_first_not_of(hex_digits), line.size());
  const std::string_view extensions = line.substr(digits);
  if (digits == 0 || digits > size_digits_max) return std::nullopt;
  if (!is_text(extensions) || !is_extensions(extensions)) return std::nullopt;
  const std::uint64_t size = std::stoull(std::string(line.substr(0, digits)), nullptr, 16);
  if (size >= chunk_bytes_end) return std::nullopt;
  return size;
}

// Appends the field of the line (RFC 9112, 5) if it may be a trailer field.
bool read_field_line(std::string_view line, std::string& trailers) {
  const std::size_t colon = line.find(':');
  if (colon == std::string_view::npos || colon == 0) return false;
  std::string name(line.substr(0, colon));
  std::string_view value = line.substr(colon + 1);
  if (name.find_first_not_of(token_characters) != std::string::npos) return false;
  if (!is_text(value)) return false;
  std::ranges::transform(name, name.begin(), [](unsigned char c) { return std::tolower(c); });
  skip_blanks(value);
  value = value.substr(0, value.find_last_not_of(" \t") + 1);
  if (http::may_trail(name)) trailers.append(name).append("=").append(value).append("\n");
  return true;
}

// trailer-section CRLF
bool take_trailers(std::string_view& bytes, ChunkedReference& result) {
  for (;;) {
    const std::optional<std::string_view> line = take_line(bytes);
    if (!line) return false;
    if (line->empty()) return true;
    ++result.trailer_lines;
    if (!read_field_line(*line, result.trailers)) return false;
  }
}

}  // namespace

ChunkedReference read_chunked(std::string_view bytes) {
  ChunkedReference result;
  std::string_view rest = bytes;
  for (;;) {
    const std::optional<std::string_view> line = take_line(rest);
    const std::optional<std::uint64_t> size = line ? read_chunk_line(*line) : std::nullopt;
    if (!size) return result;
    result.overhead = std::max(result.overhead, line->size());
    if (*size == 0) break;
    if (*size > rest.size()) return result;
    result.content += rest.substr(0, static_cast<std::size_t>(*size));
    rest.remove_prefix(static_cast<std::size_t>(*size));
    if (!rest.starts_with("\r\n")) return result;
    rest.remove_prefix(2);
  }
  const std::size_t trailers_begin = bytes.size() - rest.size();
  if (!take_trailers(rest, result)) return result;
  result.complete = true;
  result.size = bytes.size() - rest.size();
  result.overhead = std::max(result.overhead, result.size - trailers_begin);
  return result;
}

}  // namespace h2server::fuzz
