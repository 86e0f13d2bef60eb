#include "content/static_files.h"

#include <string>

#include "http/message.h"

namespace h2server::content {

namespace {

// Relative links of a page need the slash. The target is kept as it came, so nothing is decoded or
// encoded twice; "//" at its start would name another host (RFC 3986, 4.2).
Response redirect_to_directory(const Request& request) {
  std::string_view target = request.head().target;
  const std::size_t scheme = target.find("://");
  if (!target.starts_with('/') && scheme != std::string_view::npos) {
    target.remove_prefix(std::min(target.find('/', scheme + 3), target.size()));
  }
  target = target.substr(0, target.find('?'));
  while (target.starts_with("//")) target.remove_prefix(1);
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

Response respond(Request& request, Lookup found) {
  if (found.kind == Lookup::Kind::file) return request.reply_ok_with_file(std::move(found.file));
  const bool directory = found.kind == Lookup::Kind::directory;
  if (directory && !names_directory(request.param("path"))) return redirect_to_directory(request);
  return refusal(found.kind);
}

Task<Response> serve(const Folder& folder, Request& request) {
  const std::string_view path = request.param("path");
  Lookup found = co_await folder.find(std::string(names_directory(path) ? index_of(path) : path));
  co_return respond(request, std::move(found));
}

}  // namespace

Handler static_files(std::shared_ptr<const Folder> folder) {
  Handler::Attempt attempt = [folder](Request& request) -> std::optional<Response> {
    const std::string_view path = request.param("path");
    const Lookup* const found = folder->known(names_directory(path) ? index_of(path) : path);
    if (found == nullptr) return std::nullopt;
    return respond(request, *found);
  };
  return {std::move(attempt), [folder](Request& request) { return serve(*folder, request); }};
}

}  // namespace h2server::content
