#include "content/uploads/receive/raw_upload.h"

#include <fmt/format.h>

#include <optional>
#include <utility>

#include "content/storage/upload_path.h"
#include "content/storage/upload_refusals.h"
#include "content/uploads/area/upload_event.h"
#include "http/fields/digest_fields.h"
#include "http/message.h"
#include "http/middleware/cross_site.h"

namespace h2server::content {

namespace {

// Has no body: with one, Repr-Digest would be that body's (RFC 9530, 3.1).
Response stored_response(const StoredFile& file) {
  Response response(file.replaced ? 204 : 201);
  if (!file.etag.empty()) response.add("ETag", file.etag);
  const auto digest = bytes_of_hex_digits(file.sha256);
  if (digest && !digest->empty()) response.add("Repr-Digest", http::digest_field(*digest));
  return response;
}

Task<Response> put_file(UploadBackendRef backend, PutOfFiles options, Request& request) {
  if (http::is_cross_site(request.head())) co_return http::error_response(403);
  const std::string_view claimed = request.param("path");
  std::optional<std::string> path = safe_upload_path(claimed, options.options.folders);
  if (!path) {
    co_return refuse_upload(400, "not a path that can be stored");
  }
  // The client would not find the file where it put it.
  if (*path != claimed) {
    co_return refuse_upload(400, fmt::format("not a name that can be stored; {} is one", *path));
  }
  Result<UploadIntent, Response> intent =
      UploadIntent::of_file(request, *std::move(path), options.options);
  if (!intent) co_return std::move(intent.error());
  intent->locks_are_checked = options.locks_are_checked;
  Stored stored = co_await backend->receive(request, *std::move(intent));
  if (!stored) co_return std::move(stored.error());
  report_stored(request, stored->front());
  co_return stored_response(stored->front());
}

}  // namespace

// put_file() takes its arguments by value. A coroutine lambda would refer to its captures, which
// the handler owns.
Handler raw_upload(UploadBackendRef backend, PutOfFiles options) {
  return Handler([backend = std::move(backend), options](Request& request) {
    return put_file(backend, options, request);
  });
}

}  // namespace h2server::content
