// The sockets that pass from a listener to the code that serves connections. A listener decides
// whether its connections use TLS.
#pragma once

#include <cstdint>

#include "base/fd.h"

namespace h2server::server {

// What a listener knows of its connections.
struct ListenerKind {
  bool cleartext = false;
  bool proxy_protocol = false;  // they begin with a header of the PROXY protocol
  std::uint16_t number = 0;     // in the order of the options

  bool operator==(const ListenerKind&) const = default;
};

struct ListeningSocket {
  base::Fd socket = {};
  ListenerKind kind = {};
  bool inherited = false;  // another process may accept from it, too
};

struct Accepted {
  base::Fd socket = {};
  ListenerKind kind = {};
};

}  // namespace h2server::server
