#include "content/uploads/upload_routes.h"

#include <sys/statvfs.h>

#include <algorithm>
#include <cerrno>
#include <memory>
#include <optional>
#include <utility>

#include "content/files/file_requests.h"
#include "content/files/folder_events.h"
#include "content/files/listing_page.h"
#include "content/files/listings.h"
#include "content/files/static_files.h"
#include "content/names/file_name.h"
#include "content/names/markup.h"
#include "content/storage/upload_space.h"
#include "content/uploads/access/upload_access.h"
#include "content/uploads/area/upload_event.h"
#include "content/uploads/upload_page.h"
#include "file/calls.h"
#include "http/answer.h"
#include "http/message.h"
#include "http/middleware/cross_site.h"
#include "io/engine.h"

namespace h2server::content {

namespace {

Task<Response> receive_upload(UploadBackendRef backend, std::string base, UploadOptions options,
                              Request& request) {
  if (http::is_cross_site(request.head())) co_return http::error_response(403);
  Result<UploadIntent, Response> intent = UploadIntent::of_form(request, options);
  if (!intent) co_return std::move(intent.error());
  Stored stored = co_await backend->receive(request, *std::move(intent));
  if (!stored) co_return std::move(stored.error());
  for (const StoredFile& file : *stored) report_stored(request, file);
  Response response = created_response(*stored);
  // Without the field, the target itself would be what was created (RFC 9110, 15.3.2).
  if (stored->size() == 1) {
    base += '/';
    append_segment(base, stored->front().name);
    response.add("Location", base);
  }
  co_return response;
}

// Of what cannot be listed.
Response unlisted(int error) {
  if (error == ENOMEM) return http::refuse_for_memory();
  if (error == EMFILE || error == ENFILE) return http::error_response(503);
  return http::error_response(error == ENOENT || error == ENOTDIR ? 404 : 500);
}

bool has_temporary_name(std::string_view path) {
  for (;;) {
    if (path.starts_with(temporary_file_prefix)) return true;
    const std::size_t slash = path.find('/');
    if (slash == path.npos) return false;
    path.remove_prefix(slash + 1);
  }
}

std::uint64_t reserve_of(const struct statvfs& disk, const UploadOptions& options) {
  if (options.reserve_bytes) return *options.reserve_bytes;
  return std::min(UploadSpaceLimits::reserve_bytes,
                  disk.f_frsize * disk.f_blocks / UploadSpaceLimits::reserve_divisor);
}

// Returns the bytes that uploads may still take, without those of folders below. May block on the
// disk.
std::optional<std::uint64_t> room(int folder, std::uint64_t stored, const UploadOptions& options) {
  struct statvfs disk{};
  if (::fstatvfs(folder, &disk) != 0) return std::nullopt;  // the page does without
  const std::uint64_t free = disk.f_frsize * disk.f_bavail;
  const std::uint64_t reserve = reserve_of(disk, options);
  const std::uint64_t on_disk = free > reserve ? free - reserve : 0;
  const std::uint64_t quota = options.directory_bytes_max;
  if (quota == 0) return on_disk;
  return std::min(on_disk, quota > stored ? quota - stored : 0);
}

}  // namespace

class UploadSite {
 public:
  UploadSite(std::shared_ptr<const file::Folder> folder, UploadPages pages)
      : folder_(std::move(folder)),
        pages_(std::move(pages)),
        listings_(folder_,
                  {.folders = pages_.folders, .follow = false, .skip = temporary_file_prefix}),
        events_(std::make_shared<FolderEvents>(folder_)) {}

  // `path` is empty or ends in a slash.
  Task<Response> list(Request& request, std::string path) {
    if (wants_events(request)) {
      Response changes = co_await FolderEvents::subscribe(events_, request, std::move(path));
      co_return changes;
    }
    const bool lists = pages_.list && may(request, Right::list);
    FolderEntriesRef entries = std::make_shared<const FolderEntries>();
    if (lists) {
      Result<FolderEntriesRef, int> found = co_await listings_.find(path);
      if (!found) co_return unlisted(found.error());
      entries = *std::move(found);
    }
    ListingPage page = upload_page(request, pages_, std::move(path));
    if (!page.uploads.action.empty()) {
      const auto work = [this, stored = entries->bytes] {
        return room(folder_->fd(), stored, pages_.options);
      };
      const auto free = co_await file::run_waiting(io::Engine::current(), work);
      page.uploads.free_bytes = free.value_or(std::nullopt);
    }
    co_return listing_response(request, std::move(entries), std::move(page));
  }

  Task<Response> download(Request& request, std::string path) {
    if (has_temporary_name(path) || has_hidden_segment(path)) co_return request.reply_404();
    const bool is_folder = path.empty() || path.ends_with('/');
    if (pages_.folders && is_folder) {
      Response listed = co_await list(request, std::move(path));
      co_return listed;
    }
    if (!pages_.list) co_return request.reply_404();
    if (!may(request, Right::read)) co_return http::error_response(403);
    if (!pages_.folders && path.contains('/')) co_return request.reply_404();
    file::Lookup found = co_await folder_->find(path);
    if (pages_.folders && found.kind == file::Lookup::Kind::directory) {
      co_return redirect_to_folder(request, pages_.base, path);
    }
    if (found.kind != file::Lookup::Kind::file) co_return refusal(found.kind);
    const bool sandboxed = may_have_scripts(found.file->content_type());
    Response response = request.reply_ok_with_file(std::move(found.file));
    make_harmless(response, sandboxed);
    co_return response;
  }

 private:
  bool wants_events(const Request& request) const {
    const bool lists = pages_.list && may(request, Right::list);
    if (!pages_.events || !lists || request.query().empty()) return false;
    return request.query_parameters().find("events").has_value();
  }

  const std::shared_ptr<const file::Folder> folder_;
  const UploadPages pages_;
  Listings listings_;
  const std::shared_ptr<FolderEvents> events_;
};

std::shared_ptr<UploadSite> make_upload_site(std::shared_ptr<const file::Folder> folder,
                                             UploadPages pages) {
  return std::make_shared<UploadSite>(std::move(folder), std::move(pages));
}

// The handler owns the site, and outlives what it answers.
Handler upload_listing(std::shared_ptr<UploadSite> site) {
  return Handler(
      [site = std::move(site)](Request& request) { return site->list(request, std::string()); });
}

Handler upload_download(std::shared_ptr<UploadSite> site) {
  // No attempt: this folder's cache never has a fresh entry (fresh_ms is 0).
  return Handler([site = std::move(site)](Request& request) {
    // A pattern has one of these.
    std::string path(request.param("path"));
    if (path.empty()) path = request.param("file_name");
    return site->download(request, std::move(path));
  });
}

Handler upload_listing(std::shared_ptr<const file::Folder> folder, std::string base,
                       http::MediaTypesRef types) {
  UploadPages pages{.base = std::move(base), .types = std::move(types)};
  return upload_listing(make_upload_site(std::move(folder), std::move(pages)));
}

Handler upload_download(std::shared_ptr<const file::Folder> folder) {
  return upload_download(make_upload_site(std::move(folder), {}));
}

// receive_upload() takes its arguments by value. A coroutine lambda would refer to its captures,
// which the handler owns.
Handler upload_receiver(UploadBackendRef backend, std::string base, UploadOptions options) {
  return Handler([backend = std::move(backend), base = std::move(base), options](Request& request) {
    return receive_upload(backend, base, options, request);
  });
}

}  // namespace h2server::content
