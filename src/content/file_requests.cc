#include "content/file_requests.h"

#include <algorithm>
#include <string>

#include "http/message.h"

namespace h2server::content {

namespace {

// Removes the empty and "." segments that a path begins with: "//" would name another host
// (RFC 3986, 4.2), "/.//" would when the client has removed its dot segments.
void remove_leading_segments(std::string_view& target) {
  for (bool again = true; again;) {
    again = false;
    for (const std::string_view segment : {"/", "/.", "/%2e", "/%2E"}) {
      if (!target.starts_with(segment) || !target.substr(segment.size()).starts_with('/')) continue;
      target.remove_prefix(segment.size());
      again = true;
    }
  }
}

}  // namespace

std::string& kept_copy(std::string_view path) {
  thread_local std::string kept;
  kept.assign(path);
  return kept;
}

bool asks_for_page(const Request& request) noexcept {
  const std::string_view accept = request.field("accept").value_or("");
  return accept.find("text/html") != accept.npos;
}

Response redirect_to_directory(const Request& request) {
  std::string_view target = request.head().target;
  const std::size_t scheme = target.find("://");
  if (!target.starts_with('/') && scheme != std::string_view::npos) {
    target.remove_prefix(std::min(target.find('/', scheme + 3), target.size()));
  }
  target = target.substr(0, target.find('?'));
  remove_leading_segments(target);
  std::string location(target);
  location += '/';
  if (!request.query().empty()) location.append("?").append(request.query());
  Response response = http::error_response(301);
  response.add("Location", location);
  return response;
}

}  // namespace h2server::content
