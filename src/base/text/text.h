// Characters and short texts of the grammars that the layers read: ASCII only, no locale.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

namespace h2server::base {

constexpr char to_lower(char c) noexcept {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c + ('a' - 'A')) : c;
}

constexpr bool equals_ignoring_case(std::string_view a, std::string_view b) noexcept {
  return std::ranges::equal(a, b, {}, to_lower, to_lower);
}

constexpr bool is_digit(char c) noexcept { return c >= '0' && c <= '9'; }

constexpr bool is_alphanumeric(char c) noexcept {
  return is_digit(c) || (to_lower(c) >= 'a' && to_lower(c) <= 'z');
}

namespace detail {
constexpr std::array<bool, 256> token_characters = [] {
  std::array<bool, 256> table{};
  for (unsigned char c = '0'; c <= '9'; ++c) table[c] = true;
  for (unsigned char c = 'a'; c <= 'z'; ++c) table[c] = true;
  for (unsigned char c = 'A'; c <= 'Z'; ++c) table[c] = true;
  for (const unsigned char c : std::string_view("!#$%&'*+-.^_`|~")) table[c] = true;
  return table;
}();
}  // namespace detail

// RFC 9110, 5.6.2.
constexpr bool is_token_character(char c) noexcept {
  return detail::token_characters[static_cast<unsigned char>(c)];
}

constexpr bool is_token(std::string_view text) noexcept {
  return !text.empty() && std::ranges::all_of(text, is_token_character);
}

// Spaces and tabs, the optional whitespace of HTTP's grammar (RFC 9110, 5.6.3).
constexpr bool is_blank(char c) noexcept { return c == ' ' || c == '\t'; }

// Removes blanks at both ends.
constexpr std::string_view trim(std::string_view text) noexcept {
  while (!text.empty() && is_blank(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_blank(text.back())) text.remove_suffix(1);
  return text;
}

// Accepts digits only. Returns nullopt for anything else and on overflow.
constexpr std::optional<std::uint64_t> parse_decimal(std::string_view text) noexcept {
  if (text.empty()) return std::nullopt;
  std::uint64_t value = 0;
  for (const char c : text) {
    if (c < '0' || c > '9') return std::nullopt;
    const auto digit = static_cast<std::uint64_t>(c - '0');
    if (value > (UINT64_MAX - digit) / 10) return std::nullopt;
    value = value * 10 + digit;
  }
  return value;
}

// Returns -1 if `c` is not a hexadecimal digit.
constexpr int hex_digit(char c) noexcept {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

// Decodes a percent-encoded byte at the start of `text` (RFC 3986, 2.1). Returns nullopt if there
// is none.
constexpr std::optional<char> decode_percent(std::string_view text) noexcept {
  if (text.size() < 3 || text[0] != '%') return std::nullopt;
  const int high = hex_digit(text[1]);
  const int low = hex_digit(text[2]);
  if (high < 0 || low < 0) return std::nullopt;
  return static_cast<char>(high * 16 + low);
}

}  // namespace h2server::base
