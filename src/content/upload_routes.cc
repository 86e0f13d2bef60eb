#include "content/upload_routes.h"

#include <algorithm>
#include <cerrno>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "content/file_name.h"
#include "content/listing.h"
#include "content/static_files.h"
#include "content/upload_receiver.h"
#include "coro/event.h"
#include "file/calls.h"
#include "file/content.h"
#include "http/cross_site.h"
#include "http/file_head.h"
#include "http/message.h"

namespace h2server::content {

namespace {

Task<Response> receive(std::shared_ptr<UploadDirectory> directory, UploadOptions options,
                       Request& request) {
  if (http::is_cross_site(request.head())) co_return http::error_response(403);
  UploadPlace place{.directory = std::move(directory), .path = {}};
  Stored stored = co_await store_uploads(request, std::move(place), options);
  if (!stored) co_return std::move(stored.error());
  co_return created_response(*stored);
}

Task<Response> download(std::shared_ptr<const file::Folder> folder, Request& request) {
  const std::string_view name = request.param("file_name");
  if (name.starts_with(temporary_file_prefix)) co_return request.reply_404();
  file::Lookup found = co_await folder->find(std::string(name));
  if (found.kind != file::Lookup::Kind::file) co_return refusal(found.kind);
  Response response = request.reply_ok_with_file(std::move(found.file));
  response.add("X-Content-Type-Options", "nosniff");
  response.add("Content-Security-Policy", "sandbox");
  co_return response;
}

// Reading a large directory takes long, so each thread keeps the page while the directory is
// unchanged, for a second at most, since files may grow without changing the directory.
struct KeptPage {
  std::string base;
  file::FileVersion version;
  std::int64_t made_ms = 0;
  FileRef page;
  bool making = false;
  std::vector<coro::Event*> waiting;  // for the page being made
};
constexpr std::int64_t fresh_ms = 1000;
thread_local KeptPage kept;

// Marks the page as being made. Notifies the waiting requests on destruction.
class MakingPage {
 public:
  MakingPage() noexcept { kept.making = true; }
  MakingPage(const MakingPage&) = delete;
  MakingPage& operator=(const MakingPage&) = delete;
  ~MakingPage() {
    kept.making = false;
    for (coro::Event* const event : std::exchange(kept.waiting, {})) event->set();
  }
};

FileRef fresh_page(int directory, const std::string& base) {
  if (kept.page == nullptr || kept.base != base) return nullptr;
  if (base::monotonic_ms() - kept.made_ms >= fresh_ms) return nullptr;
  const std::optional<file::FileVersion> version = file::version_of(directory);
  return version == kept.version && file::is_settled(kept.version) ? kept.page : nullptr;
}

Response page_response(const FileRef& page) {
  Response response(200);
  response.add("Content-Type", "text/html; charset=utf-8").add("Cache-Control", "no-store");
  response.set_body(Response::FilePart{page, 0, page->size()});
  return response;
}

// The error is an errno value.
Task<Result<FileRef, int>> make_page(int directory, std::string base) {
  const std::int64_t now_ms = base::monotonic_ms();
  const std::optional<file::FileVersion> version = file::version_of(directory);
  if (!version) co_return std::unexpected(errno);
  const auto work = [directory, &base] { return listing_page(directory, base); };
  std::optional<Result<std::string, int>> text =
      co_await file::run_waiting(io::Engine::current(), work);
  if (!text) co_return std::unexpected(ECANCELED);
  if (!*text) co_return std::unexpected(text->error());
  kept.base = std::move(base);
  kept.version = *version;
  kept.made_ms = now_ms;
  kept.page = http::make_page(**text);
  co_return kept.page;
}

// One request at a time makes a page. The others wait and use that page if it is fresh.
Task<Response> list(std::shared_ptr<const file::Folder> folder, std::string base) {
  while (kept.making) {
    coro::Event made;
    kept.waiting.push_back(&made);
    co_await made.wait();
    if (const FileRef page = fresh_page(folder->fd(), base)) co_return page_response(page);
  }
  const MakingPage making;
  const Result<FileRef, int> page = co_await make_page(folder->fd(), std::move(base));
  if (page) co_return page_response(*page);
  co_return http::error_response(page.error() == EMFILE ? 503 : 500);
}

}  // namespace

Handler upload_listing(std::shared_ptr<const file::Folder> folder, std::string base) {
  Handler::Attempt attempt = [folder, base](Request&) -> std::optional<Response> {
    const FileRef page = fresh_page(folder->fd(), base);
    if (page == nullptr) return std::nullopt;
    return page_response(page);
  };
  return {std::move(attempt), [folder, base](Request&) { return list(folder, base); }};
}

Handler upload_download(std::shared_ptr<const file::Folder> folder) {
  // No attempt: this folder's cache never has a fresh entry (fresh_ms is 0).
  return Handler(
      [folder = std::move(folder)](Request& request) { return download(folder, request); });
}

Handler upload_receiver(std::shared_ptr<UploadDirectory> directory, UploadOptions options) {
  // receive() takes its arguments by value. A coroutine lambda would refer to its captures, which
  // the handler owns.
  return Handler([directory = std::move(directory), options](Request& request) {
    return receive(directory, options, request);
  });
}

}  // namespace h2server::content
