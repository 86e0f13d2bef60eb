#include "content/webdav/webdav_answers.h"

#include <utility>

#include "content/names/markup.h"
#include "http/message.h"

namespace h2server::content {

void append_href(std::string& out, std::string_view base, std::string_view path, bool is_folder) {
  out.append("<D:href>").append(base);
  while (!path.empty()) {
    const std::size_t end = std::min(path.find('/'), path.size());
    out += '/';
    append_segment(out, path.substr(0, end));
    path.remove_prefix(std::min(end + 1, path.size()));
  }
  if (is_folder) out += '/';
  out += "</D:href>";
}

void append_status(std::string& out, int status) {
  out += "<D:status>HTTP/1.1 ";
  append_number(out, static_cast<std::uint64_t>(status));
  out.append(" ").append(http::reason_phrase(status)).append("</D:status>");
}

Response dav_response(int status, std::string body) {
  Response response(status, std::move(body), dav_media_type);
  response.add("X-Content-Type-Options", "nosniff");
  response.add("Cache-Control", "no-cache");
  return response;
}

Response dav_error(int status, std::string_view condition) {
  std::string body = "<?xml version=\"1.0\" encoding=\"utf-8\"?>\n<D:error xmlns:D=\"DAV:\">";
  body.append(condition).append("</D:error>\n");
  return dav_response(status, std::move(body));
}

Response locked(std::string_view base, std::string_view path) {
  std::string condition = "<D:lock-token-submitted>";
  append_href(condition, base, path, false);
  condition += "</D:lock-token-submitted>";
  return dav_error(423, condition);
}

Response failed_response(std::string_view base, std::string_view path,
                         const TreeFailures& failures) {
  if (failures.size() == 1 && failures.front().path == path) {
    return http::error_response(failures.front().status);
  }
  std::string body(multistatus_begin);
  for (const TreeFailure& failure : failures) {
    body += "<D:response>";
    append_href(body, base, failure.path, failure.is_folder);
    append_status(body, failure.status);
    body += "</D:response>\n";
  }
  body += multistatus_end;
  return dav_response(207, std::move(body));
}

}  // namespace h2server::content
