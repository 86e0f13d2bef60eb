// The response to a GET or HEAD of a file (RFC 9110, 13 and 14).
#pragma once

#include "h2server/message.h"
#include "h2server/response.h"

namespace h2server::http {

// Returns 200, 206, 304, 412 or 416, depending on the request's preconditions and Range.
Response file_response(const RequestHead& head, FileRef file);

}  // namespace h2server::http
