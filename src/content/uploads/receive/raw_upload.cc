#include "content/uploads/receive/raw_upload.h"

#include <fmt/format.h>

#include <optional>
#include <utility>

#include "content/storage/upload_path.h"
#include "content/storage/upload_refusals.h"
#include "content/uploads/receive/raw_receiver.h"
#include "content/uploads/stored/store_put_receiver.h"
#include "content/uploads/upload_event.h"
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

// `Place` is where store_body() stores.
template <class Place>
Task<Response> put_file(Place place, std::string base, UploadOptions options, Request& request) {
  if (http::is_cross_site(request.head())) co_return http::error_response(403);
  const std::string_view claimed = request.param("path");
  std::optional<std::string> path = safe_upload_path(claimed, options.folders);
  if (!path) {
    co_return refuse_upload(400, fmt::format("not a path below {} that can be stored", base));
  }
  // The client would not find the file where it put it.
  if (*path != claimed) {
    co_return refuse_upload(400, fmt::format("not a name that can be stored; {} is one", *path));
  }
  Stored stored =
      co_await store_body(request, std::move(place), *std::move(path), std::move(options));
  if (!stored) co_return std::move(stored.error());
  report_stored(request, stored->front());
  co_return stored_response(stored->front());
}

}  // namespace

Task<Stored> store_body(Request& request, UploadPlace place, std::string path,
                        UploadOptions options) {
  Result<RawHead, Response> head = RawHead::of(request, std::move(path));
  if (!head) co_return std::unexpected(std::move(head.error()));
  RawReceiver receiver(*std::move(head), std::move(place), options);
  Stored stored = co_await receive_body(request, receiver);
  co_return stored;
}

Task<Stored> store_body(Request& request, StoreUploadsRef uploads, std::string path,
                        UploadOptions options) {
  Result<RawHead, Response> head = RawHead::of(request, std::move(path));
  if (!head) co_return std::unexpected(std::move(head.error()));
  StorePutReceiver receiver(*std::move(head), *uploads, options);
  Stored stored = co_await uploads->receive(request, receiver);
  co_return stored;
}

// put_file() takes its arguments by value. A coroutine lambda would refer to its captures, which
// the handler owns.
Handler raw_upload(std::shared_ptr<UploadDirectory> directory, std::string base,
                   UploadOptions options, bool locks_are_checked) {
  const UploadPlace place{
      .directory = std::move(directory), .path = {}, .locks_are_checked = locks_are_checked};
  return Handler([place, base = std::move(base), options](Request& request) {
    return put_file(place, base, options, request);
  });
}

Handler raw_upload(StoreUploadsRef uploads, std::string base, UploadOptions options) {
  return Handler([uploads = std::move(uploads), base = std::move(base), options](Request& request) {
    return put_file(uploads, base, options, request);
  });
}

}  // namespace h2server::content
