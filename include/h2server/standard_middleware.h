// Small middleware for most servers: times for a log, trace ids, deadlines, fields for security,
// and error pages.
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <string>

#include "h2server/failure.h"
#include "h2server/middleware.h"

#pragma GCC visibility push(default)
namespace h2server {

// `duration` is from this middleware's start to the head of the response; a body may be sent for
// longer. Called on all workers concurrently. Must not throw: the response would become 500.
using RequestHook =
    std::function<void(const Request&, int status, std::chrono::microseconds duration)>;

// Calls the hook for each request. What is outside of it is neither timed nor seen.
[[nodiscard]] Middleware request_log(RequestHook hook);

// Attaches a TraceContext (h2server/trace.h): the child of the one in traceparent, or a new one,
// which is not sampled. Adds its trace id to the response as X-Request-Id, so that a user can quote
// it: for responses, W3C Trace Context has no field. An X-Request-Id of the request is ignored: it
// could be any text.
[[nodiscard]] Middleware request_id();

// Stops the request's token after `time` (see Request::set_deadline()), also while the body of the
// response is sent. If the deadline passed before the handler had answered, the response is 503.
// A handler that does not wait for anything is not interrupted. Throws std::invalid_argument unless
// `time` is positive.
[[nodiscard]] Middleware timeout(std::chrono::milliseconds time);

// Values of fields; an empty one is not sent.
struct SecurityHeadersOptions {
  // To its own origin a page sends the whole Referer, to others nothing. "no-referrer" would make
  // browsers send "Origin: null" with forms, which is_cross_site() takes for another site.
  std::string referrer_policy = "same-origin";
  std::string frame_options = "DENY";  // X-Frame-Options: which pages may frame this one
  // For instance "default-src 'self'; frame-ancestors 'none'".
  std::string content_security_policy = {};
  // Over TLS only (RFC 6797, 7.2). For instance "max-age=31536000; includeSubDomains": browsers
  // will use no cleartext for that long.
  std::string strict_transport_security = {};
};

// Adds these fields, and "X-Content-Type-Options: nosniff". A field that a handler set stays.
// Throws std::invalid_argument for a value that can't be sent.
[[nodiscard]] Middleware security_headers(SecurityHeadersOptions options = {});

// Returns the HTML page for a status; empty: a plain page. Called on all workers concurrently.
using ErrorPage = std::function<std::string(const Request&, int status)>;

// For Server::set_error_handler(), since only that knows which errors have no page of their own.
// Clients that prefer JSON to HTML get application/problem+json (RFC 9457).
[[nodiscard]] ErrorHandler error_pages(ErrorPage page);
// By status.
[[nodiscard]] ErrorHandler error_pages(std::map<int, std::string> pages = {});

}  // namespace h2server
#pragma GCC visibility pop
