// Takes what gives access out of URLs before they are shown or logged. Pure functions, any thread.
#pragma once

#include <string>
#include <string_view>

namespace h2server::base {

// Returns `url` with "***" in place of the values of all parameters of its query that are named
// token, access_token (RFC 6750, 2.3) or signature, however these names are spelled: with
// percent-encoding and in any case. Lenient: `url` is as a peer has sent it. The result is `url`,
// or lies in `room`, whose memory is used again.
std::string_view hide_secrets(std::string_view url, std::string& room);

}  // namespace h2server::base
