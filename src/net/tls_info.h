// What a handler may know of a connection's TLS session.
#pragma once

#include "h2server/connection_info.h"

struct ssl_st;

namespace h2server::net {

// Call it once the handshake is complete.
TlsInfo tls_info(const ssl_st& ssl);

}  // namespace h2server::net
