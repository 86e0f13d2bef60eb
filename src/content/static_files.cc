#include "content/static_files.h"

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

// Relative links of a page need the slash. The rest of the target is kept as it came, so nothing is
// decoded or encoded twice.
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

bool names_directory(std::string_view path) { return path.empty() || path.ends_with('/'); }

// The path of the file that stands for a directory.
std::string_view index_of(std::string_view path) {
  thread_local std::string index;  // keeps its memory
  index.assign(path).append("index.html");
  return index;
}

Response respond(Request& request, file::Lookup found) {
  if (found.kind == file::Lookup::Kind::file)
    return request.reply_ok_with_file(std::move(found.file));
  const bool directory = found.kind == file::Lookup::Kind::directory;
  if (directory && !names_directory(request.param("path"))) return redirect_to_directory(request);
  return refusal(found.kind);
}

Task<Response> serve(const file::Folder& folder, Request& request) {
  const std::string_view path = request.param("path");
  file::Lookup found =
      co_await folder.find(std::string(names_directory(path) ? index_of(path) : path));
  co_return respond(request, std::move(found));
}

}  // namespace

Handler static_files(std::shared_ptr<const file::Folder> folder) {
  Handler::Attempt attempt = [folder](Request& request) -> std::optional<Response> {
    const std::string_view path = request.param("path");
    std::optional<file::Lookup> found =
        folder->known(names_directory(path) ? index_of(path) : path);
    if (!found) return std::nullopt;
    return respond(request, *std::move(found));
  };
  return {std::move(attempt), [folder](Request& request) { return serve(*folder, request); }};
}

Response refusal(file::Lookup::Kind kind) {
  switch (kind) {
    case file::Lookup::Kind::forbidden:
      return http::error_response(403);
    case file::Lookup::Kind::failed: {
      Response response = http::error_response(503);
      response.add("Retry-After", "1");
      return response;
    }
    case file::Lookup::Kind::absent:
    case file::Lookup::Kind::directory:
    case file::Lookup::Kind::file:
      break;
  }
  return http::error_response(404);
}

}  // namespace h2server::content
