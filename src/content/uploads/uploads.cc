#include "h2server/uploads.h"

#include <fmt/format.h>

#include <optional>
#include <utility>

#include "content/storage/upload_path.h"
#include "content/storage/upload_refusals.h"
#include "content/uploads/receive/upload_backend.h"
#include "h2server/json.h"
#include "http/middleware/cross_site.h"

namespace h2server {

Task<Result<std::vector<StoredFile>, Response>> store_uploads(Request& request,
                                                              std::string directory,
                                                              UploadOptions options) {
  Result<content::UploadIntent, Response> intent = content::UploadIntent::of_form(request, options);
  if (!intent) co_return std::unexpected(std::move(intent.error()));
  content::UploadPlace place{.directory = nullptr, .path = std::move(directory)};
  content::Stored stored =
      co_await content::receive_into(request, std::move(place), *std::move(intent));
  co_return stored;
}

Task<Result<StoredFile, Response>> store_body(Request& request, std::string directory,
                                              std::string path, UploadOptions options) {
  std::optional<std::string> safe = content::safe_upload_path(path, options.folders);
  if (!safe) {
    co_return std::unexpected(content::refuse_upload(400, "not a file name that can be stored"));
  }
  Result<content::UploadIntent, Response> intent =
      content::UploadIntent::of_file(request, *std::move(safe), options);
  if (!intent) co_return std::unexpected(std::move(intent.error()));
  content::UploadPlace place{.directory = nullptr, .path = std::move(directory)};
  content::Stored stored =
      co_await content::receive_into(request, std::move(place), *std::move(intent));
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
