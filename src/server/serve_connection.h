// One connection from its first byte to its last, under every scheme and engine.
#pragma once

#include "base/fd.h"
#include "h2server/task.h"
#include "server/context.h"

namespace h2server::server {

// TLS and ALPN, or the preface, decide between HTTP/1.1 and HTTP/2. Lets no exception out; when it
// ends, the connection is closed, and `ticket` goes.
Task<void> serve_connection(WorkerContext& worker, base::Fd connection, Admission::Ticket ticket);

}  // namespace h2server::server
