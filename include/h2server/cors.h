// cors(): lets pages of other origins read responses (Fetch, "CORS protocol").
//
//   server.use(cors({.origins = {"https://app.example"}, .credentials = true}));
//
// Add it outside of authentication: a preflight carries no credentials. In a group it also answers
// preflights for the paths of that group.
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "h2server/message.h"
#include "h2server/middleware.h"

#pragma GCC visibility push(default)
namespace h2server {

struct CorsOptions {
  // As browsers send them: scheme, host in lower case, and the port unless it is the scheme's usual
  // one. "*" alone: every origin.
  std::vector<std::string> origins;
  std::vector<Method> methods = {GET, HEAD, POST};
  // Of requests and responses, beyond those that Fetch always allows. "*" alone: all but
  // Authorization.
  std::vector<std::string> request_fields = {};
  std::vector<std::string> exposed_fields = {};
  // Lets pages send cookies and other credentials, and read the responses. Not with "*".
  bool credentials = false;
  // How long a browser may remember a preflight. Browsers allow 2 h (Chromium) to 24 h (Firefox).
  std::chrono::seconds max_age{600};
};

// Answers preflights with 204; that of an origin that is not allowed lacks the fields that would
// allow it. Adds the fields of CORS to all other responses, in place of those that a handler set.
// Requests are not refused: it is the browser that withholds the response (see is_cross_site()).
//
// Throws std::invalid_argument for "*" with credentials or beside other words, for an origin that
// no browser sends, for "null", which any page can be, and for an invalid name or time.
[[nodiscard]] Middleware cors(CorsOptions options);

}  // namespace h2server
#pragma GCC visibility pop
