// The challenges of Basic and Bearer authentication (RFC 9110, 11.6.1), for the middleware that
// send them. Pure functions, any thread.
#pragma once

#include <string>
#include <string_view>

#include "h2server/response.h"

namespace h2server::http {

// Both return a value of WWW-Authenticate. They throw std::invalid_argument for a realm that can't
// be sent.
std::string basic_challenge(std::string_view realm);
std::string bearer_challenge(std::string_view realm);
// What follows that challenge if a token was given (RFC 6750, 3.1).
inline constexpr std::string_view invalid_token = ", error=\"invalid_token\"";

// Returns 401 without a body.
Response unauthorized(const std::string& challenge);

}  // namespace h2server::http
