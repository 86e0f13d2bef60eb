#include "h2server/uploads.h"

#include <fmt/format.h>

#include <optional>
#include <utility>

#include "content/uploads/receive/multipart.h"
#include "content/uploads/receive/raw_upload.h"
#include "content/uploads/receive/upload_receiver.h"
#include "content/uploads/stored/store_form_receiver.h"
#include "h2server/json.h"
#include "http/middleware/cross_site.h"

namespace h2server {

namespace content {

namespace {

Result<FormHead, Response> form_head_of(const Request& request) {
  const auto type = request.field("content-type");
  std::optional<std::string> boundary = multipart_boundary(type.value_or(""));
  if (!boundary) {
    return std::unexpected(
        refuse_upload(415, "send the files as multipart/form-data with a boundary"));
  }
  Result<StatedDigests, Response> digests = StatedDigests::of(request.head().fields);
  if (!digests) return std::unexpected(std::move(digests.error()));
  return FormHead{.boundary = *std::move(boundary),
                  .body_bytes = request.head().content_length,
                  .digests = *digests};
}

}  // namespace

Task<Stored> store_uploads(Request& request, UploadPlace place, UploadOptions options) {
  Result<FormHead, Response> head = form_head_of(request);
  if (!head) co_return std::unexpected(std::move(head.error()));
  UploadReceiver receiver(*std::move(head), std::move(place), options);
  Stored stored = co_await receive_body(request, receiver);
  co_return stored;
}

Task<Stored> store_uploads(Request& request, StoreUploadsRef uploads, UploadOptions options) {
  Result<FormHead, Response> head = form_head_of(request);
  if (!head) co_return std::unexpected(std::move(head.error()));
  StoreFormReceiver receiver(*std::move(head), *uploads, options);
  Stored stored = co_await uploads->receive(request, receiver);
  co_return stored;
}

}  // namespace content

Task<Result<std::vector<StoredFile>, Response>> store_uploads(Request& request,
                                                              std::string directory,
                                                              UploadOptions options) {
  content::UploadPlace place{.directory = nullptr, .path = std::move(directory)};
  content::Stored stored = co_await content::store_uploads(request, std::move(place), options);
  co_return stored;
}

Task<Result<StoredFile, Response>> store_body(Request& request, std::string directory,
                                              std::string path, UploadOptions options) {
  std::optional<std::string> safe = content::safe_upload_path(path, options.folders);
  if (!safe) {
    co_return std::unexpected(content::refuse_upload(400, "not a file name that can be stored"));
  }
  content::UploadPlace place{.directory = nullptr, .path = std::move(directory)};
  content::Stored stored =
      co_await content::store_body(request, std::move(place), *std::move(safe), options);
  if (!stored) co_return std::unexpected(std::move(stored.error()));
  co_return std::move(stored->front());
}

bool is_cross_site(const Request& request) { return http::is_cross_site(request.head()); }

Response created_response(const std::vector<StoredFile>& files) {
  std::string json = "[";
  for (const StoredFile& file : files) {
    if (json.size() > 1) json += ',';
    json += fmt::format("{{\"name\":{},\"size\":{}", json_string(file.name), file.size);
    if (!file.sha256.empty()) json += fmt::format(",\"sha256\":\"{}\"", file.sha256);
    json += '}';
  }
  json += "]\n";
  Response response = Response::json(std::move(json), 201);
  response.add("X-Content-Type-Options", "nosniff");  // the names are the client's choice
  return response;
}

}  // namespace h2server
