// Who made a browser send a request: a page of ours, its user, or a page of somebody else.
#pragma once

#include "h2server/message.h"

namespace h2server::http {

// Returns true if a page of another origin may have made its reader's browser send this request.
// For handlers that change something.
//
// Sec-Fetch-Site (W3C Fetch Metadata, 2.4) decides where there is one: "same-origin" and "none",
// which is the user, are ours; another host of the same site is not. Browsers leave it out where
// the connection is not trustworthy, as cleartext is: then Origin (RFC 6454, 7) is compared with
// the request's scheme, host and port. What has neither was not sent by a page: curl.
bool is_cross_site(const RequestHead& head);

}  // namespace h2server::http
