#include "content/static_files.h"

#include <algorithm>
#include <cerrno>
#include <string>
#include <utility>

#include "content/attachment.h"
#include "content/listing_page.h"
#include "content/listings.h"
#include "file/content.h"
#include "http/message.h"

namespace h2server::content {

namespace {

using file::Lookup;

// Removes the empty and "." segments that a path begins with: "//" would name another host
// (RFC 3986, 4.2), "/.//" would when the client has removed its dot segments.
void remove_leading_segments(std::string_view& target) {
  for (bool again = true; again;) {
    again = false;
    for (const std::string_view segment : {"/", "/.", "/%2e", "/%2E"}) {
      if (!target.starts_with(segment) || !target.substr(segment.size()).starts_with('/')) continue;
      target.remove_prefix(segment.size());
      again = true;
    }
  }
}

// Relative links of a page need the slash. The rest of the target is kept as it came, so nothing is
// decoded or encoded twice.
Response redirect_to_directory(const Request& request) {
  std::string_view target = request.head().target;
  const std::size_t scheme = target.find("://");
  if (!target.starts_with('/') && scheme != std::string_view::npos) {
    target.remove_prefix(std::min(target.find('/', scheme + 3), target.size()));
  }
  target = target.substr(0, target.find('?'));
  remove_leading_segments(target);
  std::string location(target);
  location += '/';
  if (!request.query().empty()) location.append("?").append(request.query());
  Response response = http::error_response(301);
  response.add("Location", location);
  return response;
}

bool names_directory(std::string_view path) { return path.empty() || path.ends_with('/'); }

// Returns true if a segment of the path begins with ".", unless that is the first one and reserved
// for clients that look for it (RFC 8615).
bool is_hidden(std::string_view path) {
  if (path.starts_with(".well-known/")) path.remove_prefix(1);
  return path.starts_with('.') || path.find("/.") != path.npos;
}

Lookup::Kind kind_of_error(int error) {
  switch (error) {
    case ENOENT:
    case ENOTDIR:
    case ELOOP:
    case ENAMETOOLONG:
    case EINVAL:
      return Lookup::Kind::absent;
    case EACCES:
    case EPERM:
      return Lookup::Kind::forbidden;
    default:  // EMFILE, ENFILE, ENOMEM, EIO, ECANCELED
      return Lookup::Kind::failed;
  }
}

// Shared by all workers.
class StaticFiles {
 public:
  StaticFiles(std::shared_ptr<const file::Folder> folder, const FilesOptions& options)
      : folder_(std::move(folder)),
        options_(options),
        listings_(folder_, {.hidden = options.hidden}) {}

  // Returns nullopt if the answer needs a look at the file system.
  std::optional<Response> attempt(Request& request) const;
  Task<Response> serve(Request& request) const;

 private:
  // Returns nullopt if that is not known; `absent` if no index file exists.
  std::optional<Lookup> known_index(std::string_view directory) const;
  Task<Lookup> find_index(std::string directory) const;
  [[nodiscard]] bool is_refused(std::string_view path) const {
    return !options_.hidden && is_hidden(path);
  }
  [[nodiscard]] bool falls_back(const Request& request, const Lookup& found) const;
  Response respond(Request& request, Lookup found) const;
  Task<Response> list(Request& request) const;
  Task<void> add_readme(const FolderEntriesRef& entries, ListingPage& page) const;

  const std::shared_ptr<const file::Folder> folder_;
  const FilesOptions options_;
  mutable Listings listings_;
};

std::optional<Lookup> StaticFiles::known_index(std::string_view directory) const {
  thread_local std::string path;  // keeps its memory
  for (const std::string& name : options_.index) {
    path.assign(directory).append(name);
    std::optional<Lookup> found = folder_->known(path);
    if (!found || found->kind != Lookup::Kind::absent) return found;
  }
  return Lookup();
}

Task<Lookup> StaticFiles::find_index(std::string directory) const {
  for (const std::string& name : options_.index) {
    Lookup found = co_await folder_->find(directory + name);
    if (found.kind != Lookup::Kind::absent) co_return found;
  }
  co_return Lookup();
}

// A request of a script for data must not get a page.
bool StaticFiles::falls_back(const Request& request, const Lookup& found) const {
  if (options_.fallback.empty() || found.kind != Lookup::Kind::absent) return false;
  const std::string_view accept = request.field("accept").value_or("");
  return accept.find("text/html") != accept.npos;
}

Response StaticFiles::respond(Request& request, Lookup found) const {
  const std::string_view path = request.param("path");
  if (found.kind == Lookup::Kind::directory && !names_directory(path)) {
    return redirect_to_directory(request);
  }
  if (found.kind != Lookup::Kind::file) return refusal(found.kind);
  Response response = request.reply_ok_with_file(std::move(found.file));
  const bool saves = !request.query().empty() && request.query_parameters().find("download");
  if (saves && response.status() < 300) {
    response.add("Content-Disposition", attachment(path.substr(path.rfind('/') + 1)));
  }
  return response;
}

std::optional<Response> StaticFiles::attempt(Request& request) const {
  const std::string_view path = request.param("path");
  if (is_refused(path)) return refusal(Lookup::Kind::absent);
  const bool directory = names_directory(path);
  std::optional<Lookup> found = directory ? known_index(path) : folder_->known(path);
  if (!found || falls_back(request, *found)) return std::nullopt;
  const bool lists = directory && options_.listing && found->kind == Lookup::Kind::absent;
  if (lists) return std::nullopt;
  return respond(request, *std::move(found));
}

Task<Response> StaticFiles::serve(Request& request) const {
  const std::string path(request.param("path"));
  const bool directory = names_directory(path);
  Task<Lookup> look = directory ? find_index(path) : folder_->find(path);
  Lookup found = co_await look;
  if (directory && options_.listing && found.kind == Lookup::Kind::absent) {
    Response listing = co_await list(request);
    if (listing.status() != 404) co_return listing;
  }
  if (falls_back(request, found)) found = co_await folder_->find(options_.fallback);
  co_return respond(request, std::move(found));
}

Task<Response> StaticFiles::list(Request& request) const {
  const std::string path(request.param("path"));
  const Result<FolderEntriesRef, int> entries = co_await listings_.find(path);
  if (!entries) co_return refusal(kind_of_error(entries.error()));
  ListingPage page{.path = path};
  co_await add_readme(*entries, page);
  co_return listing_response(request, *entries, std::move(page));
}

// Larger readmes than the cache holds in memory are not shown.
Task<void> StaticFiles::add_readme(const FolderEntriesRef& entries, ListingPage& page) const {
  const FolderEntry* const readme = find_readme(*entries);
  if (readme == nullptr) co_return;
  const Lookup found = co_await folder_->find(page.path + readme->name);
  if (found.kind != Lookup::Kind::file || found.file->content().mapped()) co_return;
  page.readme_name = readme->name;
  page.readme.assign(found.file->content().bytes(), found.file->size());
}

}  // namespace

Handler static_files(std::shared_ptr<const file::Folder> folder, const FilesOptions& options) {
  const auto files = std::make_shared<const StaticFiles>(std::move(folder), options);
  Handler::Attempt attempt = [files](Request& request) { return files->attempt(request); };
  return {std::move(attempt), [files](Request& request) { return files->serve(request); }};
}

Response refusal(file::Lookup::Kind kind) {
  switch (kind) {
    case Lookup::Kind::forbidden:
      return http::error_response(403);
    case Lookup::Kind::failed: {
      Response response = http::error_response(503);
      response.add("Retry-After", "1");
      return response;
    }
    case Lookup::Kind::absent:
    case Lookup::Kind::directory:
    case Lookup::Kind::file:
      break;
  }
  return http::error_response(404);
}

}  // namespace h2server::content
