#include "content/archive/zip_names.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <functional>

#include "base/text/text.h"
#include "base/text/utf8.h"

namespace h2server::content {

namespace {

// Returns true if Windows reserves `stem`, a name up to its first dot, for a device.
bool is_device(std::string_view stem) {
  constexpr std::array<std::string_view, 6> names = {"CON", "PRN",    "AUX",
                                                     "NUL", "CONIN$", "CONOUT$"};
  constexpr std::array<std::string_view, 2> ports = {"COM", "LPT"};
  constexpr std::array<std::string_view, 13> numbers = {
      "0", "1", "2", "3", "4", "5", "6", "7", "8", "9", "\u00b9", "\u00b2", "\u00b3"};
  const auto is_like = [](std::string_view text) {
    return [text](std::string_view name) { return base::equals_ignoring_case(name, text); };
  };
  if (std::ranges::any_of(names, is_like(stem))) return true;
  return std::ranges::any_of(ports, is_like(stem.substr(0, 3))) &&
         std::ranges::find(numbers, stem.substr(3)) != numbers.end();
}

std::string_view without_end(std::string_view text, char c) {
  return text.substr(0, text.find_last_not_of(c) + 1);  // npos + 1 is 0
}

// Folds the letters whose upper and lower case have two bytes each in UTF-8.
char32_t fold(char32_t c) {
  const bool latin = c >= U'\u00c0' && c <= U'\u00de' && c != U'\u00d7';
  const bool greek = c >= U'\u0391' && c <= U'\u03a9' && c != U'\u03a2';
  const bool cyrillic = c >= U'\u0410' && c <= U'\u042f';
  if (latin || greek || cyrillic) return c + 0x20;
  if (c >= U'\u0400' && c <= U'\u040f') return c + 0x50;
  return c;
}

// `name` is UTF-8.
std::string folded(std::string_view name) {
  std::string text;
  text.reserve(name.size());
  while (!name.empty()) {
    const base::Utf8Unit unit = base::first_utf8_unit(name);
    if (unit.size == 2) {
      const auto byte_at = [name](std::size_t at) { return static_cast<unsigned char>(name[at]); };
      const char32_t c = fold((byte_at(0) & 0x1fU) << 6 | (byte_at(1) & 0x3fU));
      text += static_cast<char>(0xc0 | c >> 6);
      text += static_cast<char>(0x80 | (c & 0x3f));
    } else if (unit.size == 1) {
      text += base::to_lower(name.front());
    } else {
      text += name.substr(0, unit.size);
    }
    name.remove_prefix(unit.size);
  }
  return text;
}

std::size_t key_of(std::string_view zip_name) { return std::hash<std::string>{}(folded(zip_name)); }

// "a.txt", 2 → "a (2).txt"
std::string with_number(std::string_view name, std::uint32_t number) {
  const std::size_t dot = name.rfind('.');
  const std::size_t stem = dot == std::string_view::npos || dot == 0 ? name.size() : dot;
  return fmt::format("{} ({}){}", name.substr(0, stem), number, name.substr(stem));
}

}  // namespace

std::string zip_name(std::string_view name) {
  std::string text = base::to_valid_utf8(name);
  for (char& c : text) {
    constexpr std::string_view forbidden = "\\:*?\"<>|/";
    const bool control = static_cast<unsigned char>(c) < 0x20 || c == 0x7f;
    if (control || forbidden.contains(c)) c = '_';
  }
  const std::size_t end = text.find_last_not_of(". ") + 1;  // npos + 1 is 0
  std::fill(text.begin() + static_cast<std::ptrdiff_t>(end), text.end(), '_');
  // Windows ignores spaces between a device's name and the dot.
  if (is_device(without_end(std::string_view(text).substr(0, text.find('.')), ' '))) {
    text.insert(0, 1, '_');
  }
  return text;
}

void ZipNames::expect(std::string_view name) {
  expected_.push_back(key_of(zip_name(name)));
  sorted_ = false;
}

std::string ZipNames::next(std::string_view name) {
  if (!sorted_) std::ranges::sort(expected_);
  sorted_ = true;
  std::string text = zip_name(name);
  const std::size_t key = key_of(text);
  if (std::ranges::equal_range(expected_, key).size() < 2) return text;
  // The number is never reset, so a folder of equal names takes time in proportion to them.
  std::uint32_t& number = duplicates_[key];
  if (++number == 1) return text;
  for (;; ++number) {
    std::string candidate = with_number(text, number);
    const std::size_t its_key = key_of(candidate);
    if (!is_expected(its_key) && numbered_.insert(its_key).second) return candidate;
  }
}

bool ZipNames::is_expected(std::size_t key) const {
  return std::ranges::binary_search(expected_, key);
}

}  // namespace h2server::content
