// The small pages of upload_access(): for browsers a page, for others a line of text.
#pragma once

#include <string_view>

#include "h2server/request.h"
#include "h2server/response.h"

namespace h2server::content {

// Returns true if a browser asks for a page to show.
bool wants_page(const Request& request);

// 401. Asks for the token.
Response token_page(const Request& request, bool wrong);
// 403, 411, 413, 421 or 429 with that sentence.
Response refusal_page(const Request& request, int status, std::string_view sentence);
// 200. Leads to `location`, a path, as a link of this site would. A redirection would count as a
// request of the site that the link was on, and get no SameSite=Strict cookie (RFC 6265bis, 5.2).
Response leading_page(std::string_view location);

}  // namespace h2server::content
