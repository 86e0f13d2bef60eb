// Parses request targets into paths that are safe to route and to look up (RFC 9112, 3.2).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/memory/arena.h"

namespace h2server::http {

// Host and port of a URI, of Host or of ":authority" (RFC 3986, 3.2). Views into the parsed text.
struct Authority {
  std::string_view host;              // name or address; IPv6 with brackets
  std::optional<std::uint16_t> port;  // nullopt: the scheme's default
};

// Returns nullopt if `text` is not an authority of http or https: the host must not be empty, and
// user information is not allowed (RFC 9110, 4.2.1 and 4.2.4). An empty port ("a:") counts as none.
// Checks the characters and escapes of names, and the syntax of addresses in brackets. Refuses zone
// identifiers, which RFC 9844 removed from URIs.
std::optional<Authority> parse_authority(std::string_view text) noexcept;

struct Target {
  // Percent-decoded once, without "." segments (RFC 3986, 5.2.4); begins with '/', or is "*".
  std::string_view path;
  std::string_view query;      // as received, without '?'
  std::string_view authority;  // of the absolute form; else empty
};

// Accepts origin form, absolute form of http and https, and "*". Returns nullopt (400) for anything
// else and for a path with a ".." segment, a NUL, an encoded slash, an invalid escape or a byte
// that must be escaped. Clients resolve ".." themselves; following it would hide the requested
// resource. The views point into `raw` or into the arena.
std::optional<Target> parse_target(std::string_view raw, base::Arena& arena);

// Checks a decoded path that a rule has made as parse_target() checks what clients send: returns it
// without "." segments, or nullopt if it has a ".." segment or a NUL. It begins with '/'.
std::optional<std::string_view> check_path(std::string_view path, base::Arena& arena);

// Returns the origin form of a target that parse_target() accepts: of the absolute form what
// follows the authority (RFC 9112, 3.2.1), "/" of "*".
std::string origin_form_of(std::string_view target);

// Returns the path of a URL without the empty and "." segments that it begins with: as a reference,
// "//a" would name another host (RFC 3986, 4.2), and so would "/.//a" to a client that removes the
// dot segments first.
std::string_view local_path_of(std::string_view path) noexcept;

}  // namespace h2server::http
