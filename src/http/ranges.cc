#include "http/ranges.h"

#include <algorithm>
#include <limits>
#include <optional>

#include "http/syntax.h"

namespace h2server::http {
namespace {

// Returns what follows "bytes=". Range units are case-insensitive (RFC 9110, 14.1).
std::optional<std::string_view> byte_range_set(std::string_view field) noexcept {
  constexpr std::string_view prefix = "bytes=";
  if (!equals_ignoring_case(field.substr(0, prefix.size()), prefix)) return std::nullopt;
  return field.substr(prefix.size());
}

// Returns the only element of a list, or nullopt if there are none or several. Empty elements do
// not count (RFC 9110, 5.6.1.2).
std::optional<std::string_view> only_element(std::string_view list) noexcept {
  std::optional<std::string_view> found;
  while (true) {
    const auto comma = list.find(',');
    const auto element = trim(list.substr(0, comma));
    if (!element.empty() && found) return std::nullopt;
    if (!element.empty()) found = element;
    if (comma == std::string_view::npos) return found;
    list.remove_prefix(comma + 1);
  }
}

std::optional<std::uint64_t> parse_saturated(std::string_view digits) noexcept {
  constexpr auto largest = std::numeric_limits<std::uint64_t>::max();
  if (digits.empty()) return std::nullopt;
  std::uint64_t value = 0;
  for (const char byte : digits) {
    if (byte < '0' || byte > '9') return std::nullopt;
    const auto digit = static_cast<std::uint64_t>(byte - '0');
    value = value > (largest - digit) / 10 ? largest : value * 10 + digit;
  }
  return value;
}

RangeChoice whole(std::uint64_t size) noexcept { return {RangeVerdict::whole, {0, size}}; }

RangeChoice unsatisfiable() noexcept { return {RangeVerdict::unsatisfiable, {}}; }

RangeChoice choose_suffix(std::string_view digits, std::uint64_t size) noexcept {
  const auto length = parse_saturated(digits);
  if (!length) return whole(size);
  const std::uint64_t count = std::min(*length, size);
  if (count == 0) return unsatisfiable();
  return {RangeVerdict::partial, {size - count, count}};
}

}  // namespace

RangeChoice choose_range(std::string_view range_field, std::uint64_t size) noexcept {
  const auto set = byte_range_set(trim(range_field));
  const auto spec = set ? only_element(*set) : std::nullopt;
  if (!spec) return whole(size);
  const auto dash = spec->find('-');
  if (dash == std::string_view::npos) return whole(size);
  const auto last_digits = spec->substr(dash + 1);
  if (dash == 0) return choose_suffix(last_digits, size);

  const auto first = parse_saturated(spec->substr(0, dash));
  const auto last = last_digits.empty() ? std::numeric_limits<std::uint64_t>::max()
                                        : parse_saturated(last_digits);
  if (!first || !last || *last < *first) return whole(size);
  if (*first >= size) return unsatisfiable();
  return {RangeVerdict::partial, {*first, std::min(*last, size - 1) - *first + 1}};
}

}  // namespace h2server::http
