// Request targets: from bytes to a path that is safe to route and to look up (RFC 9112, 3.2).
#pragma once

#include <optional>
#include <string_view>

#include "base/arena.h"

namespace h2server::http {

struct Target {
  std::string_view path;       // percent-decoded once; begins with '/', or is "*"
  std::string_view query;      // as received, without '?'
  std::string_view authority;  // of the absolute form, else empty
};

// Origin form, absolute form of http and https, and "*". Nullopt (400) for anything else and for a
// path with a dot segment, a NUL, an encoded slash, a wrong escape or a byte that must be escaped.
// The views point into `raw` or into the arena.
std::optional<Target> parse_target(std::string_view raw, base::Arena& arena);

// Whether this can be a host with an optional port (RFC 9110, 7.2), or empty.
bool is_authority(std::string_view text) noexcept;

}  // namespace h2server::http
