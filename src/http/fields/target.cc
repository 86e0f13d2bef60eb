#include "http/fields/target.h"

#include <arpa/inet.h>

#include <algorithm>
#include <array>
#include <cstdint>

#include "http/fields/syntax.h"

namespace h2server::http {

namespace {

// Properties of a target's character that matter for parsing.
enum Trait : std::uint8_t {
  bad = 1,       // not allowed
  encoded = 2,   // '%'
  question = 4,  // '?'
  named = 8,     // allowed in a host name: "unreserved" and "sub-delims" of RFC 3986, 2
  dot = 16,
  slash = 32,
  leading_dot = 64,  // of a target: a dot behind a slash, possibly of a dot segment
};

constexpr std::array<std::uint8_t, 256> traits = [] {
  std::array<std::uint8_t, 256> table{};
  for (std::size_t c = 0; c < table.size(); ++c) table[c] = c > 0x20 && c < 0x7f ? 0 : bad;
  table['#'] = bad;
  table['%'] = encoded;
  table['?'] = question;
  table['.'] = dot;
  table['/'] = slash;
  for (unsigned char c = '0'; c <= '9'; ++c) table[c] |= named;
  for (unsigned char c = 'a'; c <= 'z'; ++c) table[c] |= named;
  for (unsigned char c = 'A'; c <= 'Z'; ++c) table[c] |= named;
  for (const unsigned char c : std::string_view("-._~!$&'()*+,;=")) table[c] |= named;
  return table;
}();

// Returns the union of all characters' traits, and `leading_dot`.
unsigned traits_of(std::string_view raw) noexcept {
  static_assert(slash == dot << 1U && leading_dot == slash << 1U);
  unsigned all = 0;
  unsigned before = 0;
  unsigned leading = 0;  // `slash`, if there is a leading dot
  for (const char c : raw) {
    const unsigned own = traits[static_cast<unsigned char>(c)];
    leading |= own << 1U & before;
    all |= before = own;
  }
  return all | (leading & slash) << 1U;
}

// Decodes into `out`, which has at least `text.size()` bytes. Returns the decoded size, or nullopt.
std::optional<std::size_t> decode(std::string_view text, std::span<char> out) noexcept {
  std::size_t size = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    char c = text[i];
    if (c == '%') {
      const std::optional<char> decoded = base::decode_percent(text.substr(i));
      if (!decoded) return std::nullopt;
      c = *decoded;
      // A slash that the router did not see must not reach the file system.
      if (c == '\0' || c == '/') return std::nullopt;
      i += 2;
    }
    out[size++] = c;
  }
  return size;
}

bool is_named(char c) noexcept { return (traits[static_cast<unsigned char>(c)] & named) != 0; }

// RFC 3986, 3.2.2: reg-name, which includes IPv4 addresses. Not empty (RFC 9110, 4.2.1).
bool is_registered_name(std::string_view text) noexcept {
  unsigned common = named;  // most names need no closer look
  for (const char c : text) common &= traits[static_cast<unsigned char>(c)];
  if (common != 0) [[likely]]
    return !text.empty();
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (is_named(text[i])) continue;
    if (text[i] != '%' || text.size() - i < 3) return false;
    if (hex_digit(text[i + 1]) < 0 || hex_digit(text[i + 2]) < 0) return false;
    i += 2;
  }
  return true;
}

// RFC 3986, 3.2.2: the text between the brackets, IPv6address or IPvFuture.
bool is_ip_literal(std::string_view text) noexcept {
  if (text.starts_with('v') || text.starts_with('V')) {
    const std::size_t point = text.find('.');
    if (point == std::string_view::npos) return false;
    const std::string_view version = text.substr(1, point - 1);
    const std::string_view address = text.substr(point + 1);
    const auto is_hex = [](char c) { return hex_digit(c) >= 0; };
    const auto is_part = [](char c) { return is_named(c) || c == ':'; };
    return !version.empty() && std::ranges::all_of(version, is_hex) && !address.empty() &&
           std::ranges::all_of(address, is_part);
  }
  std::array<char, INET6_ADDRSTRLEN> terminated{};
  if (text.size() >= terminated.size() || text.contains('\0')) return false;
  std::ranges::copy(text, terminated.begin());
  in6_addr address{};
  return ::inet_pton(AF_INET6, terminated.data(), &address) == 1;
}

enum class DotSegments : std::uint8_t { none, current, parent };

// Finds "." and ".." segments in a decoded path. Returns `parent` if there is any "..".
DotSegments find_dot_segments(std::string_view path) noexcept {
  DotSegments found = DotSegments::none;
  while (!path.empty()) {
    path.remove_prefix(1);  // the slash
    const std::size_t end = std::min(path.find('/'), path.size());
    const std::string_view segment = path.substr(0, end);
    if (segment == "..") return DotSegments::parent;
    if (segment == ".") found = DotSegments::current;
    path.remove_prefix(end);
  }
  return found;
}

// Removes each "." from a path without "..", in place. Returns the new size (RFC 3986, 5.2.4).
std::size_t remove_current_segments(std::span<char> path) noexcept {
  std::size_t size = 0;
  for (std::size_t i = 0; i < path.size(); ++i) {
    const std::string_view rest(path.data() + i, path.size() - i);
    if (rest == "/.") {
      path[size++] = '/';  // the path names a directory
      break;
    }
    if (rest.starts_with("/./")) {
      ++i;  // skips to the dot; the slash after it is examined next
    } else {
      path[size++] = path[i];
    }
  }
  return size;
}

// Removes the "." segments of a decoded path. It lies in `room`, or `room` is empty. Returns
// nullopt if there is a "..".
std::optional<std::string_view> without_dot_segments(std::string_view path, std::span<char> room,
                                                     base::Arena& arena) {
  switch (find_dot_segments(path)) {
    case DotSegments::parent:
      return std::nullopt;
    case DotSegments::none:
      return path;
    case DotSegments::current:
      break;
  }
  if (room.empty()) {
    room = arena.take(path.size());
    std::ranges::copy(path, room.begin());
  }
  return std::string_view(room.data(), remove_current_segments(room));
}

// Decodes the received path, which has the traits `found`, and removes its "." segments.
std::optional<std::string_view> normalize_path(std::string_view raw, unsigned found,
                                               base::Arena& arena) {
  if ((found & (encoded | leading_dot)) == 0) return raw;
  std::span<char> room;
  if ((found & encoded) != 0) {
    room = arena.take(raw.size());
    const std::optional<std::size_t> size = decode(raw, room);
    if (!size) return std::nullopt;
    room = room.first(*size);
    raw = {room.data(), room.size()};
  }
  return without_dot_segments(raw, room, arena);
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
    if (!parse_authority(target.authority)) return std::nullopt;
    raw.remove_prefix(end);
  }
  if ((found & question) != 0) {
    const std::size_t at = std::min(raw.find('?'), raw.size());
    target.query = raw.substr(std::min(at + 1, raw.size()));
    raw = raw.substr(0, at);
  }
  if (raw.empty()) raw = "/";  // RFC 9110, 4.2.3
  const std::optional<std::string_view> path = normalize_path(raw, found, arena);
  if (!path) return std::nullopt;
  target.path = *path;
  return target;
}

std::optional<std::string_view> check_path(std::string_view path, base::Arena& arena) {
  if (path.contains('\0')) return std::nullopt;
  return without_dot_segments(path, {}, arena);
}

std::string origin_form_of(std::string_view target) {
  if (target == "*") return "/";
  if (remove_scheme(target))
    target.remove_prefix(std::min(target.find_first_of("/?"), target.size()));
  return target.starts_with('/') ? std::string(target) : "/" + std::string(target);
}

std::string_view local_path_of(std::string_view path) noexcept {
  for (bool again = true; again;) {
    again = false;
    for (const std::string_view segment : {"/", "/.", "/%2e", "/%2E"}) {
      if (!path.starts_with(segment) || !path.substr(segment.size()).starts_with('/')) continue;
      path.remove_prefix(segment.size());
      again = true;
    }
  }
  return path;
}

std::optional<Authority> parse_authority(std::string_view text) noexcept {
  const bool literal = text.starts_with('[');
  const std::size_t end = literal ? text.find(']') : std::min(text.find(':'), text.size());
  if (end == std::string_view::npos) return std::nullopt;
  const std::size_t size = literal ? end + 1 : end;
  Authority authority{text.substr(0, size), std::nullopt};
  const bool good =
      literal ? is_ip_literal(text.substr(1, end - 1)) : is_registered_name(authority.host);
  if (!good) return std::nullopt;
  text.remove_prefix(size);
  if (text.empty()) return authority;
  if (text.front() != ':') return std::nullopt;
  text.remove_prefix(1);
  if (text.empty()) return authority;
  std::uint32_t port = 0;
  for (const char c : text) {
    const auto digit = static_cast<unsigned char>(c - '0');
    port = port * 10 + digit;
    if (digit > 9 || port > UINT16_MAX) return std::nullopt;
  }
  authority.port = static_cast<std::uint16_t>(port);
  return authority;
}

}  // namespace h2server::http
