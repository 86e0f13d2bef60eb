#include "http/target.h"

#include <algorithm>

#include "http/syntax.h"

namespace h2server::http {

namespace {

bool is_target_character(char c) noexcept { return c > 0x20 && c < 0x7f && c != '#'; }

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
  for (const char c : raw) {
    if (!is_target_character(c)) return std::nullopt;
  }
  if (!raw.starts_with('/')) {
    if (!remove_scheme(raw)) return std::nullopt;
    const std::size_t end = std::min(raw.find_first_of("/?"), raw.size());
    target.authority = raw.substr(0, end);
    if (target.authority.empty() || !is_authority(target.authority)) return std::nullopt;
    raw.remove_prefix(end);
  }
  const std::size_t question = raw.find('?');
  if (question != std::string_view::npos) {
    target.query = raw.substr(question + 1);
    raw = raw.substr(0, question);
  }
  target.path = raw.empty() ? std::string_view("/") : raw;  // RFC 9110, 4.2.3
  if (raw.find('%') != std::string_view::npos) {
    const std::span<char> room = arena.take(raw.size());
    const std::optional<std::size_t> size = decode(raw, room);
    if (!size) return std::nullopt;
    target.path = {room.data(), *size};
  }
  if (has_dot_segment(target.path)) return std::nullopt;
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
