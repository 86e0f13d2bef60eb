// Tries whether this process may listen on a port.
#pragma once

#include <cstdint>
#include <string>

namespace h2server::net {

// Binds a socket as open_listeners() does and closes it at once. It never listens, so no client
// connects to it. Returns 0 or an errno value: EADDRINUSE, EACCES, EADDRNOTAVAIL (also if the host
// can't be resolved), EAFNOSUPPORT. An empty host is every address. May wait for a name server.
int try_port(const std::string& host, std::uint16_t port);

}  // namespace h2server::net
