// Which listeners a server's options ask for, and how they are opened.
#pragma once

#include <string>
#include <vector>

#include "h2server/options.h"
#include "h2server/result.h"
#include "net/listener.h"
#include "server/accept/accepted.h"

namespace h2server::server {

// The error is a line for the operator.
Result<std::vector<ListenerOptions>, std::string> listeners_of(const ServerOptions& options);

// Returns true if it has a host and a port, neither a path nor a descriptor.
ListenerKind kind_of(const ListenerOptions& listener, std::size_t number) noexcept;
bool is_tcp(const ListenerOptions& listener) noexcept;

// Returns a listener for each address of the host; otherwise one. `reuse_port` is for TCP only. The
// error is a line for the operator.
Result<std::vector<net::Listener>, std::string> open_listeners(const ListenerOptions& listener,
                                                               bool reuse_port);

// Fails if the port of a TCP listener is in use. SO_REUSEPORT would silently share it with another
// server of the same user.
Result<void, std::string> check_free(const ListenerOptions& listener);

}  // namespace h2server::server
