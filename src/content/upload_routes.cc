#include "content/upload_routes.h"

#include <cerrno>
#include <memory>
#include <utility>

#include "content/file_name.h"
#include "content/listing_page.h"
#include "content/listings.h"
#include "content/markup.h"
#include "content/static_files.h"
#include "content/upload_receiver.h"
#include "http/cross_site.h"
#include "http/message.h"

namespace h2server::content {

namespace {

Task<Response> receive(std::shared_ptr<UploadDirectory> directory, std::string base,
                       UploadOptions options, Request& request) {
  if (http::is_cross_site(request.head())) co_return http::error_response(403);
  UploadPlace place{.directory = std::move(directory), .path = {}};
  Stored stored = co_await store_uploads(request, std::move(place), options);
  if (!stored) co_return std::move(stored.error());
  Response response = created_response(*stored);
  // Without the field, the target itself would be what was created (RFC 9110, 15.3.2).
  if (stored->size() == 1) {
    base += '/';
    append_segment(base, stored->front().name);
    response.add("Location", base);
  }
  co_return response;
}

// A document in the sandbox may not even fetch the rest of the video that it shows. Images, audio
// and video hold no scripts, unless they are XML, as SVG is: browsers show any type that ends in
// "+xml" as a document. nosniff keeps them from taking the others for a page. `type` begins in
// lower case, see http::normal_media_type().
bool may_have_scripts(std::string_view type) {
  type = type.substr(0, type.find(';'));
  if (type.contains("svg") || type.contains("xml")) return true;
  return !type.starts_with("image/") && !type.starts_with("audio/") && !type.starts_with("video/");
}

Task<Response> download(std::shared_ptr<const file::Folder> folder, Request& request) {
  const std::string_view name = request.param("file_name");
  if (name.starts_with(temporary_file_prefix)) co_return request.reply_404();
  file::Lookup found = co_await folder->find(std::string(name));
  if (found.kind != file::Lookup::Kind::file) co_return refusal(found.kind);
  const bool sandboxed = may_have_scripts(found.file->content_type());
  Response response = request.reply_ok_with_file(std::move(found.file));
  response.replace("X-Content-Type-Options", "nosniff");  // errors have it already
  if (sandboxed) response.add("Content-Security-Policy", "sandbox");
  co_return response;
}

Task<Response> list(std::shared_ptr<Listings> listings, std::string base, http::MediaTypesRef types,
                    Request& request) {
  const Result<FolderEntriesRef, int> entries = co_await listings->find("");
  if (!entries) co_return http::error_response(entries.error() == EMFILE ? 503 : 500);
  ListingPage page{.root_name = "Uploads",
                   .link_prefix = base + "/",
                   .upload_to = base,
                   .types = std::move(types)};
  co_return listing_response(request, *entries, std::move(page));
}

}  // namespace

Handler upload_listing(std::shared_ptr<const file::Folder> folder, std::string base,
                       http::MediaTypesRef types) {
  const ReadFolderOptions options{
      .hidden = true, .folders = false, .follow = false, .skip = temporary_file_prefix};
  auto listings = std::make_shared<Listings>(std::move(folder), options);
  return Handler([listings = std::move(listings), base = std::move(base), types = std::move(types)](
                     Request& request) { return list(listings, base, types, request); });
}

Handler upload_download(std::shared_ptr<const file::Folder> folder) {
  // No attempt: this folder's cache never has a fresh entry (fresh_ms is 0).
  return Handler(
      [folder = std::move(folder)](Request& request) { return download(folder, request); });
}

Handler upload_receiver(std::shared_ptr<UploadDirectory> directory, std::string base,
                        UploadOptions options) {
  // receive() takes its arguments by value. A coroutine lambda would refer to its captures, which
  // the handler owns.
  return Handler([directory = std::move(directory), base = std::move(base), options](
                     Request& request) { return receive(directory, base, options, request); });
}

}  // namespace h2server::content
