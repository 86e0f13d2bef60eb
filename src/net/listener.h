// Opens listening sockets for a host name and a port.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/fd.h"
#include "h2server/result.h"

namespace h2server::net {

struct ListenOptions {
  std::string host;         // a name or a numeric address; empty: every address of this machine
  std::uint16_t port = 0;   // 0: any free one
  bool reuse_port = false;  // several listeners share the port; the kernel distributes connections
  int backlog = 4096;       // waiting connections; the kernel caps it at net.core.somaxconn
};

struct Listener {
  base::Fd socket;
  std::string host;  // numeric
  std::uint16_t port = 0;
};

// Opens a non-blocking listener for each address of the host, all on one port. Accepted connections
// have Nagle's algorithm off, because Linux copies the listener's option. The error is a line for
// the operator: what failed and what to do.
Result<std::vector<Listener>, std::string> open_listeners(const ListenOptions& options);

// Turns off Nagle's algorithm: the output of a turn is already written together.
void set_no_delay(int connection) noexcept;

}  // namespace h2server::net
