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

Response serve(const Folder& folder, Request& request) {
  const std::string_view path = request.param("path");
  const bool names_directory = path.empty() || path.ends_with('/');
  if (!names_directory) {
    Lookup found = folder.find(path);
    if (found.kind == Lookup::Kind::file) return request.reply_ok_with_file(std::move(found.file));
    if (found.kind == Lookup::Kind::directory) return redirect_to_directory(request);
    return refusal(found.kind);
  }
  thread_local std::string index;  // keeps its memory
  index.assign(path).append("index.html");
  Lookup found = folder.find(index);
  if (found.kind == Lookup::Kind::file) return request.reply_ok_with_file(std::move(found.file));
  return refusal(found.kind);
}

}  // namespace

Handler static_files(std::shared_ptr<const Folder> folder) {
  return Handler(
      [folder = std::move(folder)](Request& request) { return serve(*folder, request); });
}

}  // namespace h2server::content
