// Characters, comparisons and lists of HTTP's grammar (RFC 9110, 5.6).
#pragma once

#include <algorithm>
#include <span>
#include <string_view>

#include "base/memory/arena.h"
#include "base/text/text.h"

namespace h2server::http {

using base::equals_ignoring_case;
using base::hex_digit;
using base::is_token;
using base::is_token_character;
using base::parse_decimal;
using base::to_lower;
using base::trim;

// Returns a lower-case copy in the arena.
inline std::string_view lower_case(std::string_view text, base::Arena& arena) {
  const std::span<char> room = arena.take(text.size());
  std::ranges::transform(text, room.begin(), to_lower);
  return {room.data(), room.size()};
}

// RFC 9110, 5.5: visible characters, spaces, tabs and non-ASCII bytes.
constexpr bool is_field_value_character(char c) noexcept {
  const auto byte = static_cast<unsigned char>(c);
  return (byte >= 0x20 && byte != 0x7f) || byte == '\t';
}

// Calls `each` with every non-empty element of a comma-separated list (RFC 9110, 5.6.1).
template <class Each>
constexpr void for_each_element(std::string_view list, Each each) {
  while (!list.empty()) {
    const std::size_t comma = std::min(list.find(','), list.size());
    const std::string_view element = trim(list.substr(0, comma));
    if (!element.empty()) each(element);
    list.remove_prefix(std::min(comma + 1, list.size()));
  }
}

// Removes the text before the next separator, and the separator, from `rest`. Returns that text
// without blanks at its ends. Separators in quoted strings (RFC 9110, 5.6.4) don't count.
constexpr std::string_view take_until(std::string_view& rest, char separator) noexcept {
  bool quoted = false;
  std::size_t end = 0;
  for (; end < rest.size() && (quoted || rest[end] != separator); ++end) {
    if (rest[end] == '"') quoted = !quoted;
    if (quoted && rest[end] == '\\' && end + 1 < rest.size()) ++end;
  }
  const std::string_view taken = trim(rest.substr(0, end));
  rest.remove_prefix(std::min(end + 1, rest.size()));
  return taken;
}

}  // namespace h2server::http
