// Request targets: from bytes to a path that is safe to route and to look up (RFC 9112, 3.2).
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "base/arena.h"

namespace h2server::http {

// Whom a URI, Host or ":authority" names (RFC 3986, 3.2). Views into the text that was parsed.
struct Authority {
  std::string_view host;              // a name, or an address; of IPv6 with its brackets
  std::optional<std::uint16_t> port;  // none: the scheme's default
};

// Nullopt for what is no authority of http or https: the host must not be empty and there is no
// user information (RFC 9110, 4.2.1 and 4.2.4). An empty port ("a:") is none. Names are checked by
// their characters and escapes, addresses in brackets for what they say; RFC 9844 has taken zone
// identifiers out of URIs.
std::optional<Authority> parse_authority(std::string_view text) noexcept;

struct Target {
  // Percent-decoded once, without "." segments (RFC 3986, 5.2.4); begins with '/', or is "*".
  std::string_view path;
  std::string_view query;      // as received, without '?'
  std::string_view authority;  // of the absolute form, else empty
};

// Origin form, absolute form of http and https, and "*". Nullopt (400) for anything else and for a
// path with a ".." segment, a NUL, an encoded slash, a wrong escape or a byte that must be escaped:
// no client that resolved its references sends "..", and to follow it would hide what is asked for.
// The views point into `raw` or into the arena.
std::optional<Target> parse_target(std::string_view raw, base::Arena& arena);

}  // namespace h2server::http
