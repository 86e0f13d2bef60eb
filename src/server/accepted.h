// The sockets that pass from a listener to the code that serves connections. A listener decides
// whether its connections use TLS.
#pragma once

#include "base/fd.h"

namespace h2server::server {

struct ListeningSocket {
  base::Fd socket = {};
  bool cleartext = false;
  bool inherited = false;  // another process may accept from it, too
};

struct Accepted {
  base::Fd socket = {};
  bool cleartext = false;
};

}  // namespace h2server::server
