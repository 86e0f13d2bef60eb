// The challenge of Basic authentication (RFC 9110, 11.6.1), for the middleware that send it. Pure
// functions, any thread.
#pragma once

#include <string>
#include <string_view>

#include "h2server/response.h"

namespace h2server::http {

// Returns the value of WWW-Authenticate. Throws std::invalid_argument for a realm that can't be
// sent.
std::string basic_challenge(std::string_view realm);

// Returns 401 without a body.
Response unauthorized(const std::string& challenge);

}  // namespace h2server::http
