// Which listeners a server's options ask for, and how they are opened.
#pragma once

#include <string>
#include <vector>

#include "h2server/options.h"
#include "h2server/result.h"
#include "net/listener.h"

namespace h2server::server {

// The error is a line for the operator.
Result<std::vector<ListenerOptions>, std::string> listeners_of(const ServerOptions& options);

// Returns true if it has a host and a port, neither a path nor a descriptor.
bool is_tcp(const ListenerOptions& listener) noexcept;

// Returns a listener for each address of the host; otherwise one. `reuse_port` is for TCP only. The
// error is a line for the operator.
Result<std::vector<net::Listener>, std::string> open_listeners(const ListenerOptions& listener,
                                                               bool reuse_port);

}  // namespace h2server::server
