// The addresses of a connection's ends, as the kernel knows them.
#pragma once

#include "h2server/connection_info.h"

namespace h2server::net {

// Return an empty address for a descriptor without one: a connection that the peer has reset, a
// Unix socket without a path.
Address local_address(int socket);
Address peer_address(int socket);

}  // namespace h2server::net
