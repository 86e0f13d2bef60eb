#include "target_reference.h"

#include <algorithm>
#include <cctype>
#include <vector>

namespace h2server::fuzz {

namespace {

// RFC 3986, 2.1.
std::optional<std::string> decode_segment(std::string_view segment) {
  std::string decoded;
  for (; !segment.empty(); segment.remove_prefix(1)) {
    if (segment[0] != '%') {
      decoded += segment[0];
      continue;
    }
    const std::string digits(segment.substr(1, 2));
    const auto is_hex = [](unsigned char c) { return std::isxdigit(c) != 0; };
    if (digits.size() != 2 || !std::ranges::all_of(digits, is_hex)) return std::nullopt;
    decoded += static_cast<char>(std::stoi(digits, nullptr, 16));
    segment.remove_prefix(2);
  }
  return decoded;
}

// `raw` begins with a slash. Removes "." segments (RFC 3986, 5.2.4) and refuses "..".
std::optional<std::string> read_path(std::string_view raw) {
  std::string path;
  while (!raw.empty()) {
    raw.remove_prefix(1);
    const std::size_t size = std::min(raw.find('/'), raw.size());
    const std::optional<std::string> segment = decode_segment(raw.substr(0, size));
    if (!segment || segment == "..") return std::nullopt;
    if (segment->find_first_of(std::string_view("/\0", 2)) != std::string::npos) {
      return std::nullopt;
    }
    raw.remove_prefix(size);
    if (segment != ".") {
      path += '/' + *segment;
    } else if (raw.empty()) {
      path += '/';
    }
  }
  return path;
}

bool starts_with_scheme(std::string_view raw, std::string_view scheme) {
  return std::ranges::equal(raw.substr(0, scheme.size()), scheme, {},
                            [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
}

}  // namespace

std::optional<TargetReference> read_target(std::string_view raw) {
  TargetReference target;
  if (raw == "*") {
    target.path = raw;
    return target;
  }
  const auto must_be_escaped = [](char c) { return c <= 0x20 || c == 0x7f || c == '#'; };
  if (std::ranges::any_of(raw, must_be_escaped)) return std::nullopt;
  for (const std::string_view scheme : {"http://", "https://"}) {
    if (!starts_with_scheme(raw, scheme)) continue;
    target.absolute = true;
    raw.remove_prefix(scheme.size());
    target.authority = raw.substr(0, raw.find_first_of("/?"));
    raw.remove_prefix(target.authority.size());
    break;
  }
  const std::size_t question = raw.find('?');
  if (question != std::string_view::npos) target.query = raw.substr(question + 1);
  raw = raw.substr(0, question);
  if (target.absolute && raw.empty()) raw = "/";
  if (!raw.starts_with('/')) return std::nullopt;
  std::optional<std::string> path = read_path(raw);
  if (!path) return std::nullopt;
  target.path = *std::move(path);
  return target;
}

std::string encode_path(std::string_view path) {
  constexpr std::string_view digits = "0123456789abcdef";
  std::string encoded;
  for (const char c : path) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '/') {
      encoded += c;
    } else {
      encoded.append("%").append(1, digits[byte >> 4]).append(1, digits[byte & 15]);
    }
  }
  return encoded;
}

}  // namespace h2server::fuzz
