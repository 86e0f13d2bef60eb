#include "content/upload_quota.h"

#include <algorithm>

#include "base/text.h"
#include "content/resumable_fields.h"
#include "content/upload_path.h"

namespace h2server::content {

namespace {

// Of a creation that can be resumed, the server keeps what it has received if the line breaks.
bool may_be_resumed(const Request& request) {
  return request.field("tus-resumable") || request.field("upload-complete") ||
         request.field("upload-incomplete");
}

}  // namespace

std::optional<std::uint64_t> added_bytes(const Request& request, std::string_view resumable) {
  const bool creates = request.method() == POST || request.method() == PUT;
  const auto content_length = request.field("content-length");
  const auto body = content_length ? base::parse_decimal(*content_length) : std::nullopt;
  // Other handlers take the body, whatever these fields say.
  const bool resumes = is_at_or_below(request.path(), resumable) ||
                       (request.method() == PUT && request.field("upload-complete"));
  if (!resumes) return creates ? body : std::optional<std::uint64_t>(0);
  if (const auto length = request.field("upload-length")) {
    const std::optional<std::uint64_t> announced = base::parse_decimal(*length);
    if (!announced || !creates) return announced;
    return std::max(*announced, body.value_or(0));
  }
  if (!creates) return 0;
  // tus: a final upload consists of others, which were counted.
  const bool speaks_tus = request.field("tus-resumable").has_value();
  if (speaks_tus && request.field("upload-concat").value_or("").starts_with("final")) return 0;
  const bool open_end =
      request.field("upload-defer-length") ||
      (!speaks_tus && parse_item_boolean(request.field("upload-complete").value_or("")) == false);
  return open_end ? std::nullopt : body;
}

bool left_nothing(const Request& request, const Response& response) {
  const int status = response.status();
  if (status < 400) return false;
  if (!may_be_resumed(request)) return true;
  // 400 and 5xx may be those of a line that broke. With a Location, the upload is still there.
  return !response.find("location") && ((status > 400 && status < 500) || status == 507);
}

}  // namespace h2server::content
