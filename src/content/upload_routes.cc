#include "content/upload_routes.h"

#include <cerrno>

#include "content/file_name.h"
#include "content/listing.h"
#include "http/message.h"

namespace h2server::content {

namespace {

Task<Response> receive(std::shared_ptr<const Folder> folder, UploadOptions options,
                       Request& request) {
  // A page of another site may make its reader's browser send a form here; browsers say so.
  if (request.field("sec-fetch-site") == "cross-site") co_return http::error_response(403);
  Result<std::vector<StoredFile>, Response> stored =
      co_await store_uploads(request, folder->path(), options);
  if (!stored) co_return std::move(stored.error());
  co_return created_response(*stored);
}

}  // namespace

Handler upload_listing(std::shared_ptr<const Folder> folder, std::string base) {
  return Handler([folder = std::move(folder), base = std::move(base)](Request&) {
    Result<std::string, int> page = listing_page(folder->fd(), base);
    if (!page) return http::error_response(page.error() == EMFILE ? 503 : 500);
    Response response(200, *std::move(page), "text/html; charset=utf-8");
    response.add("Cache-Control", "no-store");
    return response;
  });
}

Handler upload_download(std::shared_ptr<const Folder> folder) {
  return Handler([folder = std::move(folder)](Request& request) {
    const std::string_view name = request.param("file_name");
    if (name.starts_with(temporary_file_prefix)) return request.reply_404();
    Lookup found = folder->find(name);
    if (found.kind != Lookup::Kind::file) return refusal(found.kind);
    Response response = request.reply_ok_with_file(std::move(found.file));
    response.add("X-Content-Type-Options", "nosniff");
    response.add("Content-Security-Policy", "sandbox");
    return response;
  });
}

Handler upload_receiver(std::shared_ptr<const Folder> folder, UploadOptions options) {
  // The coroutine is a function and takes what it needs by value: the lambda's captures belong to
  // the handler, the frame may not.
  return Handler([folder = std::move(folder), options](Request& request) {
    return receive(folder, options, request);
  });
}

}  // namespace h2server::content
