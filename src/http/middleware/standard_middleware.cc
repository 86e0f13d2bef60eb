#include "h2server/standard_middleware.h"

#include <array>
#include <optional>
#include <stdexcept>
#include <utility>
#include <vector>

#include "h2server/negotiation.h"
#include "h2server/problem.h"
#include "h2server/trace.h"
#include "http/message.h"

namespace h2server {

Middleware request_id() {
  const auto begin = [](Request& request) -> std::optional<Response> {
    const std::optional<TraceContext> caller = trace_of(request);
    request.attach(caller ? caller->child() : TraceContext::start(false));
    return std::nullopt;
  };
  const auto end = [](Request& request, Response& response) {
    // A handler may have attached another one.
    response.replace("X-Request-Id", request.attached<TraceContext>()->trace_id());
  };
  return {begin, end};
}

Middleware timeout(std::chrono::milliseconds time) {
  if (time.count() <= 0) throw std::invalid_argument("a timeout that is not positive");
  const auto begin = [time](Request& request) -> std::optional<Response> {
    request.set_deadline(time);
    return std::nullopt;
  };
  const auto end = [](Request& request, Response& response) {
    const bool late = request.stop_token().reason() == StopReason::deadline;
    // A handler that threw ECANCELED has that status already.
    if (late && response.status() != 503) throw HttpError(503, "the deadline has passed");
  };
  return {begin, end};
}

Middleware security_headers(SecurityHeadersOptions options) {
  std::vector<Response::Line> always = {
      {"X-Content-Type-Options", "nosniff"},
      {"Referrer-Policy", std::move(options.referrer_policy)},
      {"X-Frame-Options", std::move(options.frame_options)},
      {"Content-Security-Policy", std::move(options.content_security_policy)},
  };
  std::erase_if(always, [](const Response::Line& line) { return line.value.empty(); });
  std::vector<Response::Line> encrypted = always;
  if (!options.strict_transport_security.empty()) {
    encrypted.push_back(
        {"Strict-Transport-Security", std::move(options.strict_transport_security)});
  }
  Response checked;  // throws for values that can't be sent
  for (const Response::Line& line : encrypted) checked.add(line.name, line.value);
  return [always = std::move(always), encrypted = std::move(encrypted)](Request& request,
                                                                        Response& response) {
    for (const Response::Line& line : request.head().encrypted ? encrypted : always) {
      if (!response.find(line.name)) response.add(line.name, line.value);
    }
  };
}

ErrorHandler error_pages(ErrorPage page) {
  if (!page) throw std::invalid_argument("error_pages without a function");
  return [page = std::move(page)](const Request& request, const Failure& failure) {
    constexpr std::array<std::string_view, 3> offers = {"text/html", "application/problem+json",
                                                        "application/json"};
    // A client that accepts neither gets HTML (RFC 9110, 12.4.1).
    Response response = http::error_response(failure.status);
    if (best_media_type(request, offers).value_or(0) > 0) {
      response = Response::problem({.status = failure.status});
    } else if (std::string html = page(request, failure.status); !html.empty()) {
      response = Response::html(std::move(html), failure.status);
    }
    response.add("Vary", "Accept").replace("X-Content-Type-Options", "nosniff");
    return response;
  };
}

ErrorHandler error_pages(std::map<int, std::string> pages) {
  return error_pages([pages = std::move(pages)](const Request&, int status) {
    const auto found = pages.find(status);
    return found != pages.end() ? found->second : std::string();
  });
}

}  // namespace h2server
