// Serves one connection from its first byte to its last, for every scheme and engine.
#pragma once

#include "h2server/task.h"
#include "server/accept/accepted.h"
#include "server/context.h"

namespace h2server::server {

// The listener decides between TLS and cleartext; ALPN, or the preface in cleartext, decides
// between HTTP/1.1 and HTTP/2. Throws no exception. When it ends, the connection is closed and
// `ticket` released. `worker` must outlive it.
Task<void> serve_connection(WorkerContext& worker, Accepted connection, Admission::Ticket ticket);

}  // namespace h2server::server
