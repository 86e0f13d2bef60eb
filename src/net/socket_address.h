// The addresses of a connection's ends, as the kernel knows them.
#pragma once

#include "h2server/connection_info.h"

namespace h2server::net {

// Return an empty address for a descriptor without one: a connection that the peer has reset, a
// Unix socket without a path.
Address local_address(int socket);
Address peer_address(int socket);

// Also once the peer has reset the connection.
bool is_unix_socket(int socket) noexcept;

}  // namespace h2server::net
