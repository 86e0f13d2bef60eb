// Opens listening sockets: for a host name and a port, for a path, and inherited ones.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/fd.h"
#include "h2server/connection_info.h"
#include "h2server/result.h"
#include "net/socket_file.h"

namespace h2server::net {

inline constexpr int backlog_max = 4096;  // the kernel caps it at net.core.somaxconn

struct ListenOptions {
  std::string host;         // a name or a numeric address; empty: every address of this machine
  std::uint16_t port = 0;   // 0: any free one
  bool reuse_port = false;  // several listeners share the port; the kernel distributes connections
  int backlog = backlog_max;
  bool listens = true;  // false: only bound, which shows whether somebody listens there
};

struct Listener {
  base::Fd socket = {};  // non-blocking
  Address address = {};
  SocketFile file = {};  // of a Unix socket, unless it was inherited
};

// Opens a non-blocking listener for each address of the host, all on one port. Accepted connections
// have Nagle's algorithm off, because Linux copies the listener's option. Waits for a port that is
// in use, for a second at most. The error is a line for the operator: what failed and what to do.
Result<std::vector<Listener>, std::string> open_listeners(const ListenOptions& options);

// Opens a listener on a Unix socket, see SocketFile.
Result<Listener, std::string> open_unix_listener(const std::string& path, unsigned mode = 0);

// Makes a listener of a copy of `descriptor`, a stream socket that listens already. The copies
// share the socket, so all become non-blocking.
Result<Listener, std::string> adopt_listener(int descriptor);

// Returns another descriptor of the socket, or a line for the operator.
Result<base::Fd, std::string> copy_of(const base::Fd& socket);

// Limits a blocking accept(2) to one tick of the kernel, after which it returns EAGAIN: another
// server may share the socket, have changed its mode, and take the connection that both have seen.
// Accepted connections inherit the limit for receiving, which has no effect on MSG_DONTWAIT and on
// io_uring.
void bound_accept(int listener) noexcept;

// Turns off Nagle's algorithm: the output of a turn is already written together.
void set_no_delay(int connection) noexcept;

}  // namespace h2server::net
