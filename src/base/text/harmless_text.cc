#include "base/text/harmless_text.h"

#include <algorithm>
#include <cstddef>

#include "base/text/utf8.h"

namespace h2server::base {

namespace {

constexpr std::size_t escape_bytes = 3;

// The first character of `text`, which must not be empty.
struct Next {
  std::size_t size;
  bool harmless;
};

char32_t code_of(std::string_view character) noexcept {
  const auto bits = [character](std::size_t at) -> char32_t {
    return static_cast<unsigned char>(character[at]) & 0x3fU;
  };
  if (character.size() == 2) return (bits(0) & 0x1fU) << 6U | bits(1);
  if (character.size() == 3) return (bits(0) & 0x0fU) << 12U | bits(1) << 6U | bits(2);
  return 0x10000;  // nothing there is harmful
}

bool is_harmful(char32_t code) noexcept {
  return code < 0xa0 || code == 0x61c || (code >= 0x200e && code <= 0x200f) ||
         (code >= 0x2028 && code <= 0x202e) || (code >= 0x2066 && code <= 0x2069);
}

Next next_of(std::string_view text) noexcept {
  const auto first = static_cast<unsigned char>(text.front());
  if (first < 0x80) return {1, first >= 0x20 && first != 0x7f};
  const Utf8Unit unit = first_utf8_unit(text);
  return {unit.size, unit.valid && harmful_code(text.substr(0, unit.size)) == 0};
}

// Returns where the first harmful character begins.
std::size_t find_harmful(std::string_view text) noexcept {
  std::size_t at = 0;
  while (at < text.size()) {
    const Next next = next_of(text.substr(at));
    if (!next.harmless) break;
    at += next.size;
  }
  return at;
}

char* put_escape(char* to, char byte) noexcept {
  constexpr std::string_view digits = "0123456789ABCDEF";
  const auto value = static_cast<unsigned char>(byte);
  *to++ = '%';
  *to++ = digits[value >> 4U];
  *to++ = digits[value & 0xfU];
  return to;
}

}  // namespace

char16_t harmful_code(std::string_view character) noexcept {
  const char32_t code = code_of(character);
  return is_harmful(code) ? static_cast<char16_t>(code) : u'\0';
}

std::string harmless_text(std::string_view text) {
  if (find_harmful(text) == text.size()) return std::string(text);
  std::string room(text.size() * escape_bytes, '\0');
  return std::string(harmless_text(text, room));
}

std::string_view harmless_text(std::string_view text, std::span<char> room) noexcept {
  if (find_harmful(text) == text.size()) return text;
  char* to = room.data();
  const char* const end = to + room.size();
  while (!text.empty()) {
    const Next next = next_of(text);
    const std::size_t size = next.harmless ? next.size : escape_bytes * next.size;
    if (size > static_cast<std::size_t>(end - to)) break;
    const std::string_view character = text.substr(0, next.size);
    if (next.harmless) to = std::ranges::copy(character, to).out;
    else
      for (const char byte : character) to = put_escape(to, byte);
    text.remove_prefix(next.size);
  }
  return {room.data(), static_cast<std::size_t>(to - room.data())};
}

}  // namespace h2server::base
