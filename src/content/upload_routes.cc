#include "content/upload_routes.h"

#include <algorithm>
#include <cerrno>
#include <memory>
#include <optional>

#include "base/clock.h"
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

Task<Response> download(std::shared_ptr<const Folder> folder, Request& request) {
  const std::string_view name = request.param("file_name");
  if (name.starts_with(temporary_file_prefix)) co_return request.reply_404();
  Lookup found = co_await folder->find(std::string(name));
  if (found.kind != Lookup::Kind::file) co_return refusal(found.kind);
  Response response = request.reply_ok_with_file(std::move(found.file));
  response.add("X-Content-Type-Options", "nosniff");
  response.add("Content-Security-Policy", "sandbox");
  co_return response;
}

// The page as a file that all who ask for it share.
FileRef make_page(std::string text) {
  auto page = std::make_shared<File>();
  page->version.size = text.size();
  page->held = std::make_unique_for_overwrite<char[]>(text.size());
  std::ranges::copy(text, page->held.get());
  page->bytes = page->held.get();
  return page;
}

// Reading a large directory takes long, so the page is kept on the thread while the directory is
// the same; for a second only, since its files may grow without it.
Result<FileRef, int> kept_page(int directory, const std::string& base) {
  struct Kept {
    std::string base;
    FileVersion version;
    std::int64_t made_ms = 0;
    FileRef page;
  };
  constexpr std::int64_t fresh_ms = 1000;
  thread_local Kept kept;
  const std::int64_t now_ms = base::monotonic_ms();
  const std::optional<FileVersion> version = version_of(directory);
  if (!version) return std::unexpected(errno);
  if (kept.page != nullptr && kept.base == base && kept.version == *version &&
      is_settled(*version) && now_ms - kept.made_ms < fresh_ms) {
    return kept.page;
  }
  Result<std::string, int> text = listing_page(directory, base);
  if (!text) return std::unexpected(text.error());
  kept = {base, *version, now_ms, make_page(*std::move(text))};
  return kept.page;
}

}  // namespace

Handler upload_listing(std::shared_ptr<const Folder> folder, std::string base) {
  return Handler([folder = std::move(folder), base = std::move(base)](Request&) {
    Result<FileRef, int> page = kept_page(folder->fd(), base);
    if (!page) return http::error_response(page.error() == EMFILE ? 503 : 500);
    Response response(200);
    response.add("Content-Type", "text/html; charset=utf-8").add("Cache-Control", "no-store");
    const std::uint64_t size = (*page)->version.size;
    response.set_body(Response::FilePart{*std::move(page), 0, size});
    return response;
  });
}

Handler upload_download(std::shared_ptr<const Folder> folder) {
  // No attempt: nothing that this folder's cache knows is fresh (see its limits).
  return Handler(
      [folder = std::move(folder)](Request& request) { return download(folder, request); });
}

Handler upload_receiver(std::shared_ptr<const Folder> folder, UploadOptions options) {
  // The coroutine is a function and takes what it needs by value: the lambda's captures belong to
  // the handler, the frame may not.
  return Handler([folder = std::move(folder), options](Request& request) {
    return receive(folder, options, request);
  });
}

}  // namespace h2server::content
