#include "http/target.h"

#include <algorithm>
#include <array>
#include <cstdint>

#include "http/syntax.h"

namespace h2server::http {

namespace {

// What a character of a target means for how it is taken apart.
enum Trait : std::uint8_t {
  bad = 1,       // may not be there
  encoded = 2,   // '%'
  question = 4,  // '?'
  dot = 8,       // maybe of a dot segment
};

constexpr std::array<std::uint8_t, 256> traits = [] {
  std::array<std::uint8_t, 256> table{};
  for (std::size_t c = 0; c < table.size(); ++c) table[c] = c > 0x20 && c < 0x7f ? 0 : bad;
  table['#'] = bad;
  table['%'] = encoded;
  table['?'] = question;
  table['.'] = dot;
  return table;
}();

// Of all characters together.
unsigned traits_of(std::string_view raw) noexcept {
  unsigned all = 0;
  for (const char c : raw) all |= traits[static_cast<unsigned char>(c)];
  return all;
}

// Decodes into `out`, which has room for all of `text`; returns the size, or nullopt.
std::optional<std::size_t> decode(std::string_view text, std::span<char> out) noexcept {
  std::size_t size = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    char c = text[i];
    if (c == '%') {
      if (text.size() - i < 3) return std::nullopt;
      const int high = hex_digit(text[i + 1]);
      const int low = hex_digit(text[i + 2]);
      if (high < 0 || low < 0) return std::nullopt;
      c = static_cast<char>(high * 16 + low);
      // A slash that was hidden from the routing must not reach the file system as one.
      if (c == '\0' || c == '/') return std::nullopt;
      i += 2;
    }
    out[size++] = c;
  }
  return size;
}

bool has_dot_segment(std::string_view path) noexcept {
  while (!path.empty()) {
    path.remove_prefix(1);  // the slash
    const std::size_t end = std::min(path.find('/'), path.size());
    const std::string_view segment = path.substr(0, end);
    if (segment == "." || segment == "..") return true;
    path.remove_prefix(end);
  }
  return false;
}

bool remove_scheme(std::string_view& raw) noexcept {
  for (const std::string_view scheme :
       {std::string_view("http://"), std::string_view("https://")}) {
    if (equals_ignoring_case(raw.substr(0, scheme.size()), scheme)) {
      raw.remove_prefix(scheme.size());
      return true;
    }
  }
  return false;
}

}  // namespace

std::optional<Target> parse_target(std::string_view raw, base::Arena& arena) {
  Target target;
  if (raw == "*") {
    target.path = raw;
    return target;
  }
  const unsigned found = traits_of(raw);
  if ((found & bad) != 0) return std::nullopt;
  if (!raw.starts_with('/')) {
    if (!remove_scheme(raw)) return std::nullopt;
    const std::size_t end = std::min(raw.find_first_of("/?"), raw.size());
    target.authority = raw.substr(0, end);
    if (target.authority.empty() || !is_authority(target.authority)) return std::nullopt;
    raw.remove_prefix(end);
  }
  if ((found & question) != 0) {
    const std::size_t at = std::min(raw.find('?'), raw.size());
    target.query = raw.substr(std::min(at + 1, raw.size()));
    raw = raw.substr(0, at);
  }
  target.path = raw.empty() ? std::string_view("/") : raw;  // RFC 9110, 4.2.3
  if ((found & encoded) != 0) {
    const std::span<char> room = arena.take(raw.size());
    const std::optional<std::size_t> size = decode(raw, room);
    if (!size) return std::nullopt;
    target.path = {room.data(), *size};
  }
  if ((found & (encoded | dot)) != 0 && has_dot_segment(target.path)) return std::nullopt;
  return target;
}

bool is_authority(std::string_view text) noexcept {
  // RFC 3986, 3.2.2 and 3.2.3: what names, addresses and ports are made of.
  constexpr std::string_view others = "-._~%!$&'()*+,;=:[]";
  return std::ranges::all_of(text, [&](char c) {
    const char lower = to_lower(c);
    return (lower >= 'a' && lower <= 'z') || (c >= '0' && c <= '9') ||
           others.find(c) != std::string_view::npos;
  });
}

}  // namespace h2server::http
