#include "observe/line_text.h"

#include "base/text/harmless_text.h"
#include "base/text/utf8.h"

namespace h2server::observe {

namespace {
using Chunk [[gnu::vector_size(16)]] = signed char;
using Halves [[gnu::vector_size(16)]] = std::uint64_t;

constexpr char hex[] = "0123456789abcdef";

template <class T>
T load(const char* from) noexcept {
  T value;
  std::memcpy(&value, from, sizeof value);
  return value;
}

template <class T>
void store(char* to, const T& value) noexcept {
  std::memcpy(to, &value, sizeof value);
}

// The smallest byte that needs no escape.
template <Escape escape>
constexpr signed char plain_min = escape == Escape::token ? 0x21 : 0x20;

// Sixteen bytes at a time. A signed comparison also finds the bytes above 0x7f.
template <Escape escape>
bool is_plain(Chunk bytes) noexcept {
  const auto special =
      (bytes < plain_min<escape>) | (bytes == 0x7f) | (bytes == '"') | (bytes == '\\');
  Halves halves;
  std::memcpy(&halves, &special, sizeof halves);
  return (halves[0] | halves[1]) == 0;
}

constexpr std::uint64_t each(unsigned char byte) noexcept { return 0x0101'0101'0101'0101U * byte; }

// Eight bytes at a time. A difference has its highest bit set if the byte is below the subtrahend;
// a borrow only follows such a byte.
template <Escape escape>
bool is_plain(std::uint64_t bytes) noexcept {
  const std::uint64_t special = bytes | (bytes + each(1)) |
                                (bytes - each(static_cast<unsigned char>(plain_min<escape>))) |
                                ((bytes ^ each('"')) - each(1)) | ((bytes ^ each('\\')) - each(1));
  return (special & each(0x80)) == 0;
}

// Copies a text of at most 7 bytes. Returns false if it needs escapes.
template <Escape escape>
bool copy_short(char* to, std::string_view text) noexcept {
  const std::size_t size = text.size();
  if (size >= 4) {
    const auto first = load<std::uint32_t>(text.data());
    const auto last = load<std::uint32_t>(text.data() + size - 4);
    store(to, first);
    store(to + size - 4, last);
    return is_plain<escape>(std::uint64_t{last} << 32 | first);
  }
  std::uint64_t bytes = each('a');
  for (std::size_t at = 0; at < size; ++at) {
    to[at] = text[at];
    bytes = bytes << 8 | static_cast<unsigned char>(text[at]);
  }
  return is_plain<escape>(bytes);
}

// Copies the longest beginning that is found plain by whole chunks; returns its size.
template <Escape escape>
std::size_t copy_plain(char* to, std::string_view text) noexcept {
  const std::size_t size = text.size();
  if (size < 8) return copy_short<escape>(to, text) ? size : 0;
  if (size < 16) {
    const auto first = load<std::uint64_t>(text.data());
    const auto last = load<std::uint64_t>(text.data() + size - 8);
    store(to, first);
    store(to + size - 8, last);
    return is_plain<escape>(first) && is_plain<escape>(last) ? size : 0;
  }
  std::size_t at = 0;
  for (; size - at > 16; at += 16) {
    const auto bytes = load<Chunk>(text.data() + at);
    store(to + at, bytes);
    if (!is_plain<escape>(bytes)) return at;
  }
  const auto last = load<Chunk>(text.data() + size - 16);
  store(to + size - 16, last);
  return is_plain<escape>(last) ? size : at;
}

template <Escape escape>
bool needs_escape(unsigned char c) noexcept {
  return c < static_cast<unsigned char>(plain_min<escape>) || c >= 0x7f || c == '"' || c == '\\';
}

char* put_hex(char* to, unsigned char c) noexcept {
  *to++ = hex[c >> 4];
  *to++ = hex[c & 15];
  return to;
}

// Writes the first character of `rest` and removes it. What a terminal may obey is escaped, too:
// controls of Unicode's second block, and of the direction of text.
char* put_json_character(char* to, std::string_view& rest) noexcept {
  const base::Utf8Unit unit = base::first_utf8_unit(rest);
  const std::string_view character = rest.substr(0, unit.size);
  rest.remove_prefix(unit.size);
  if (!unit.valid) return put(to, "\xef\xbf\xbd");
  const auto last = static_cast<unsigned char>(character.back());
  if (unit.size > 1) {
    const char16_t code = base::harmful_code(character);
    if (code == 0) return put(to, character);
    to = put_hex(put(to, "\\u"), static_cast<unsigned char>(code >> 8U));
    return put_hex(to, static_cast<unsigned char>(code & 0xffU));
  }
  if (!needs_escape<Escape::json>(last)) return put(to, character);
  if (last == '"' || last == '\\') {
    *to++ = '\\';
    *to++ = static_cast<char>(last);
    return to;
  }
  return put_hex(put(to, "\\u00"), last);
}

template <Escape escape>
char* put_byte_by_byte(char* to, std::string_view rest) noexcept {
  if constexpr (escape == Escape::json) {
    while (!rest.empty()) to = put_json_character(to, rest);
  } else {
    for (const char character : rest) {
      const auto c = static_cast<unsigned char>(character);
      if (needs_escape<escape>(c)) {
        to = put_hex(put(to, "\\x"), c);
      } else {
        *to++ = character;
      }
    }
  }
  return to;
}

// Where to cut so that no character is halved, if `text` is UTF-8.
std::size_t cut_at(std::string_view text, std::size_t size_max) noexcept {
  std::size_t size = size_max;
  while (size > 0 && size + 3 > size_max && (text[size] & '\xc0') == '\x80') --size;
  return size;
}
}  // namespace

template <Escape escape>
char* put_escaped(char* to, std::string_view text, std::size_t size_max) noexcept {
  const bool cut = text.size() > size_max;
  if (cut) [[unlikely]] {
    text = text.substr(0, escape == Escape::json ? cut_at(text, size_max) : size_max);
  }
  const std::size_t plain = copy_plain<escape>(to, text);
  to += plain;
  if (plain < text.size()) [[unlikely]] {
    to = put_byte_by_byte<escape>(to, text.substr(plain));
  }
  if (!cut) [[likely]]
    return to;
  return escape == Escape::json ? put(to, "\xe2\x80\xa6") : put(to, "...");
}

template char* put_escaped<Escape::json>(char*, std::string_view, std::size_t) noexcept;
template char* put_escaped<Escape::text>(char*, std::string_view, std::size_t) noexcept;
template char* put_escaped<Escape::token>(char*, std::string_view, std::size_t) noexcept;

}  // namespace h2server::observe
