// Detects requests that a page of another origin made a browser send.
#pragma once

#include "h2server/message.h"

namespace h2server::http {

// Returns true if a page of another origin may have made its user's browser send this request. For
// handlers that change state.
//
// Sec-Fetch-Site (W3C Fetch Metadata, 2.4) decides if present: "same-origin" and "none" (the user)
// are accepted, another host of the same site is not. Browsers omit it on untrustworthy connections
// such as cleartext. Then Origin (RFC 6454, 7) is compared with the request's scheme, host and
// port. A request with neither field was not sent by a page (curl).
bool is_cross_site(const RequestHead& head);

}  // namespace h2server::http
