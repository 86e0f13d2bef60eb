// Converts a response's head to HTTP/2 fields (RFC 9113, 8.3.2).
#pragma once

#include <vector>

#include "base/memory/arena.h"
#include "h2server/message.h"
#include "h2server/response.h"
#include "http/h2/session.h"

namespace h2server::http::h2 {

// Returns the head without a date. Fills `fields` with what the file has not prepared, if there is
// one. Names are in lower case, and connection-specific fields are left out (RFC 9113, 8.2.2). The
// views point into the response, the arena and `fields`.
ResponseHead response_head(const Response& response, base::Arena& arena,
                           std::vector<Field>& fields);

}  // namespace h2server::http::h2
