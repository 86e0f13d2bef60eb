#include "content/files/file_requests.h"

#include <string>

#include "http/fields/target.h"

namespace h2server::content {

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
  const std::string form = http::origin_form_of(request.head().target);
  std::string location(http::local_path_of(std::string_view(form).substr(0, form.find('?'))));
  location += '/';
  if (!request.query().empty()) location.append("?").append(request.query());
  return Response::redirect(location, 301);
}

}  // namespace h2server::content
