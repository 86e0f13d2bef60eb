// Takes the URLs and authorities of access records apart, and secrets out of them. Lenient: they
// are as peers have sent them. Pure functions, any thread.
#pragma once

#include <cstdint>
#include <string_view>

namespace h2server::observe {

// A URL without its user information (RFC 3986, 3.2.1), in two pieces: "https://" and the rest. The
// first one is empty if there was no user information.
struct PublicUrl {
  std::string_view scheme;
  std::string_view rest;
};
PublicUrl without_user_info(std::string_view url) noexcept;

// The query has no '?'. If `url` has none, the second piece is empty.
struct PathAndQuery {
  std::string_view path;
  std::string_view query;
};
PathAndQuery split_query(std::string_view url) noexcept;

// The path and the query of a request's target in any form (RFC 9112, 3.2).
PathAndQuery split_target(std::string_view target) noexcept;

// A host without brackets, and the digits of a port or nothing.
struct HostAndPort {
  std::string_view host;
  std::string_view port;
};
HostAndPort split_authority(std::string_view authority) noexcept;

}  // namespace h2server::observe
