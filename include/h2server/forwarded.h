// ForwardedClient: the client of a proxy in front of this server, as the proxy names it.
//
//   server.use(forwarded_client({"127.0.0.1", "10.0.0.0/8"}));
//
// Rate limits, limits of guesses and the access log then see the client and not the proxy.
#pragma once

#include <string>
#include <vector>

#include "h2server/middleware.h"

#pragma GCC visibility push(default)
namespace h2server {

// Attached to requests by forwarded_client(), see Request::attached().
struct ForwardedClient {
  std::string address;  // numeric, IPv6 without brackets
};

// Attaches a ForwardedClient to requests that come from one of these addresses and networks, or
// from a Unix socket, and carry Forwarded (RFC 7239, 4) or X-Forwarded-For: the last address that
// is not itself one of these. A request with both is not believed, since proxies set one of them
// and let the other one of a client pass. What a client has written into such a field itself stands
// in front of that and is not believed. A field that is malformed, and a name in place of an
// address
// ("unknown", "_hidden"), end the search: then the last proxy counts. A system call a request.
// Throws std::invalid_argument for what is neither an address nor a network.
[[nodiscard]] Middleware forwarded_client(const std::vector<std::string>& trusted_proxies);

}  // namespace h2server
#pragma GCC visibility pop
