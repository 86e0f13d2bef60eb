// Sockets that listen: from a host name and a port to descriptors.
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
  bool reuse_port = false;  // several listeners share the port, the kernel spreads connections
  int backlog = 4096;       // connections that wait; the kernel cuts it to net.core.somaxconn
};

struct Listener {
  base::Fd socket;
  std::string host;  // numeric
  std::uint16_t port = 0;
};

// A listener for each address of the host, all on one port, non-blocking. What it accepts has
// Nagle's algorithm off: Linux hands the listener's option on. The error is a line for the
// operator: what failed and what to do.
Result<std::vector<Listener>, std::string> open_listeners(const ListenOptions& options);

// Turns off Nagle's algorithm: what is written is written in whole turns already.
void set_no_delay(int connection) noexcept;

}  // namespace h2server::net
