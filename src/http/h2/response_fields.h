// The head of a response for HTTP/2 (RFC 9113, 8.3.2).
#pragma once

#include <vector>

#include "base/arena.h"
#include "h2server/message.h"
#include "h2server/response.h"
#include "http/h2/session.h"

namespace h2server::http::h2 {

// Fills `fields` with what no file has prepared. Names are in lower case, those that belong to a
// connection are left out (RFC 9113, 8.2.2). The views point into the response, the arena and
// `fields`. Without a date.
ResponseHead response_head(const Response& response, base::Arena& arena,
                           std::vector<Field>& fields);

}  // namespace h2server::http::h2
