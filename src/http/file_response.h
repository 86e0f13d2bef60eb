// The answer to a GET of a file: whole, in part, or not needed (RFC 9110, 13 and 14).
#pragma once

#include "h2server/message.h"
#include "h2server/response.h"

namespace h2server::http {

// 200, 206, 304, 412 or 416, as the request's preconditions and Range say.
Response file_response(const RequestHead& head, FileRef file);

}  // namespace h2server::http
