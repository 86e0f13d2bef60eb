// UTF-8 (RFC 3629): finds characters, and replaces what is not one. Pure functions, any thread.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>

namespace h2server::base {

struct Utf8Unit {
  std::size_t size = 1;  // bytes
  bool valid = false;
};

// Returns the first character of `text`, which must not be empty. If there is none, the size is
// that of the longest beginning of a character, at least 1: what one U+FFFD replaces (Unicode 16,
// 3.9, "Substitution of Maximal Subparts").
constexpr Utf8Unit first_utf8_unit(std::string_view text) noexcept {
  const auto byte_at = [text](std::size_t at) -> unsigned {
    return static_cast<unsigned char>(text[at]);
  };
  const unsigned lead = byte_at(0);
  if (lead < 0x80) return {1, true};
  if (lead < 0xc2 || lead > 0xf4) return {1, false};
  const std::size_t size = lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4;
  // RFC 3629, 4: the second byte's range excludes overlong forms, surrogates and values above
  // U+10FFFF.
  unsigned low = lead == 0xe0 ? 0xa0 : lead == 0xf0 ? 0x90 : 0x80;
  unsigned high = lead == 0xed ? 0x9f : lead == 0xf4 ? 0x8f : 0xbf;
  for (std::size_t at = 1; at < size; ++at) {
    if (at == text.size() || byte_at(at) < low || byte_at(at) > high) return {at, false};
    low = 0x80;
    high = 0xbf;
  }
  return {size, true};
}

constexpr bool is_utf8(std::string_view text) noexcept {
  while (!text.empty()) {
    const Utf8Unit unit = first_utf8_unit(text);
    if (!unit.valid) return false;
    text.remove_prefix(unit.size);
  }
  return true;
}

// Returns `text` with U+FFFD in place of what is not UTF-8.
inline std::string to_valid_utf8(std::string_view text) {
  std::string valid;
  valid.reserve(text.size());
  std::size_t good = 0;
  while (good < text.size()) {
    const Utf8Unit unit = first_utf8_unit(text.substr(good));
    good += unit.size;
    if (unit.valid) continue;
    valid.append(text.substr(0, good - unit.size)).append("\xef\xbf\xbd");
    text.remove_prefix(std::exchange(good, 0));
  }
  return valid.append(text);
}

}  // namespace h2server::base
