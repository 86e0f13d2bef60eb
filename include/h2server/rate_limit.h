// rate_limit(): answers clients that ask too often with 429 and Retry-After (RFC 6585, 4).
//
//   server.use(rate_limit({.requests_per_s = 5, .burst_max = 50}));
//
// Each key has a bucket of tokens. A request takes one, and is refused if there is none.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>

#include "h2server/middleware.h"

#pragma GCC visibility push(default)
namespace h2server {

// Returns the client's address; of an IPv6 address, the network of 64 bits, all of whose addresses
// may be one client's: "2001:db8:0:1::/64". Behind a proxy, that is the proxy, unless
// forwarded_client() has found its client (h2server/forwarded.h). Empty for clients of
// Unix sockets, and for one that has reset its connection. A system call.
[[nodiscard]] std::string client_network(const Request& request);

struct RateLimitOptions {
  // What is limited. Called on all workers concurrently.
  std::function<std::string(const Request&)> key = client_network;
  // Tokens that a bucket gains. At most 1e6.
  double requests_per_s = 10;
  // Tokens in a full bucket. At least 1, and no more than it gains in a year.
  std::uint32_t burst_max = 20;
  // Keys that are remembered. A client may have as many as it likes, so memory needs a bound: 1 MiB
  // by default. Rounded up to a multiple of 8.
  std::size_t keys_max = 65'536;
};

// The buckets are shared by all workers, and by all routes that have this middleware or a copy.
// With a process per connection, each connection has buckets of its own.
//
// When there is no room for a new key, it takes the place of one of eight: that with the fullest
// bucket, which thereby becomes full. To free a key that is refused, a client with many keys has to
// spend the bursts of eight others.
//
// Throws std::invalid_argument without a key function and for numbers out of range.
[[nodiscard]] Middleware rate_limit(RateLimitOptions options);

}  // namespace h2server
#pragma GCC visibility pop
