#include "content/files/static_files.h"

#include <fcntl.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>

#include "base/fd.h"
#include "content/archive/archive.h"
#include "content/coding/coding.h"
#include "content/files/client_places.h"
#include "content/files/encoded_files.h"
#include "content/files/file_requests.h"
#include "content/files/listing_page.h"
#include "content/files/listings.h"
#include "content/names/attachment.h"
#include "file/content.h"
#include "h2server/compression.h"
#include "h2server/query.h"
#include "http/answer.h"
#include "http/file_head.h"
#include "http/message.h"
#include "io/engine.h"

namespace h2server::content {

namespace {

using file::Lookup;

// Returns nullopt if the request asks for none.
std::optional<ArchiveFormat> archive_format(const Request& request) {
  if (!may_have(request, "archive")) return std::nullopt;
  const Parameters parameters = request.query_parameters();
  const std::string_view format = parameters.find("archive").value_or("");
  if (format == "zip") return ArchiveFormat::zip;
  if (format == "tar") return ArchiveFormat::tar;
  return std::nullopt;
}

// An archive with its place.
class PlacedArchive final : public BodySource {
 public:
  PlacedArchive(std::unique_ptr<ClientPlaces::Place> place, std::unique_ptr<BodySource> archive)
      : place_(std::move(place)), archive_(std::move(archive)) {}

  Task<Result<std::string_view>> read() override { return archive_->read(); }
  void interrupt() noexcept override { archive_->interrupt(); }
  [[nodiscard]] bool reads_request() const noexcept override { return archive_->reads_request(); }
  [[nodiscard]] std::size_t bytes_held() const noexcept override { return archive_->bytes_held(); }

 private:
  const std::unique_ptr<ClientPlaces::Place> place_;
  const std::unique_ptr<BodySource> archive_;
};

// Shared by all workers.
class StaticFiles {
 public:
  StaticFiles(std::shared_ptr<const file::Folder> folder, const FilesOptions& options,
              http::MediaTypesRef types)
      : folder_(std::move(folder)),
        options_(options),
        types_(std::move(types)),
        listings_(folder_, {.hidden = options.hidden}) {
    if (!options.compress || !has_codings()) return;
    const EncodedFilesOptions encoded{.types = types_};
    encoded_.emplace(folder_, encoded);
  }

  // Returns nullopt if the answer needs a look at the file system.
  std::optional<Response> attempt(Request& request) const;
  Task<Response> serve(Request& request) const;

 private:
  // Sets `path` to where it is. `absent` if no index file exists.
  Task<Lookup> find_index(std::string& path) const;
  [[nodiscard]] bool is_refused(std::string_view path) const {
    return !options_.hidden && is_hidden(path);
  }
  Task<Response> list(Request& request) const;
  Task<Response> archive(Request& request, ArchiveFormat format) const;
  Task<void> add_readme(const FolderEntriesRef& entries, ListingPage& page) const;

  const std::shared_ptr<const file::Folder> folder_;
  const FilesOptions options_;
  const http::MediaTypesRef types_;
  mutable Listings listings_;
  std::optional<EncodedFiles> encoded_;
  const Middleware compression_ = compression();  // of listings
  // An archive takes descriptors and memory for as long as its client reads, which may be slow.
  const std::shared_ptr<ClientPlaces> archive_places_ = std::make_shared<ClientPlaces>(8, 4);
};

Task<Lookup> StaticFiles::find_index(std::string& path) const {
  const std::size_t directory = path.size();
  for (const std::string& name : options_.index) {
    path.resize(directory);
    path += name;
    Lookup found = co_await folder_->find(path);
    if (found.kind != Lookup::Kind::absent) co_return found;
  }
  co_return Lookup();
}

// Returns the response if there is no file to send.
Response without_file(const Request& request, Lookup::Kind kind) {
  const bool directory = kind == Lookup::Kind::directory;
  if (directory && !names_directory(request.param("path"))) return redirect_to_directory(request);
  return refusal(kind);
}

// Browsers save the file.
void add_disposition(const Request& request, std::string_view path, Response& response) {
  if (response.status() >= 300 || !asks_for_download(request)) return;
  response.add("Content-Disposition", attachment(path.substr(path.rfind('/') + 1)));
}

std::optional<Response> StaticFiles::attempt(Request& request) const {
  const std::string_view target = request.param("path");
  if (is_refused(target)) return refusal(Lookup::Kind::absent);
  const bool directory = names_directory(target);
  if (directory && options_.archives && archive_format(request)) return std::nullopt;
  std::string* const index = directory ? &kept_copy(target) : nullptr;
  const auto known = [this](std::string_view path) { return folder_->known(path); };
  std::optional<Lookup> found =
      directory ? known_index(options_.index, *index, known) : known(target);
  if (!found) return std::nullopt;
  const std::string_view path = directory ? std::string_view(*index) : target;
  if (found->kind == Lookup::Kind::absent && !options_.fallback.empty()) return std::nullopt;
  const bool lists = directory && options_.listing && found->kind == Lookup::Kind::absent;
  if (lists) return std::nullopt;
  if (found->kind != Lookup::Kind::file) return without_file(request, found->kind);
  std::optional<Response> response = encoded_
                                         ? encoded_->known(request, path, std::move(found->file))
                                         : request.reply_ok_with_file(std::move(found->file));
  if (response) add_disposition(request, path, *response);
  return response;
}

Task<Response> StaticFiles::serve(Request& request) const {
  std::string path(request.param("path"));
  const bool directory = names_directory(path);
  const std::optional<ArchiveFormat> format =
      directory && options_.archives ? archive_format(request) : std::nullopt;
  Task<Lookup> look = directory ? find_index(path) : folder_->find(path);
  Lookup found = co_await look;
  // A directory with an index file is not listed, so it is not packed either.
  const bool makes_body = format || (directory && options_.listing);
  if (makes_body && found.kind == Lookup::Kind::absent && http::memory_is_tight()) {
    co_return http::refuse_for_memory();
  }
  if (format && found.kind == Lookup::Kind::absent) {
    Response sent = co_await archive(request, *format);
    co_return sent;
  }
  if (directory && options_.listing && found.kind == Lookup::Kind::absent) {
    Response listing = co_await list(request);
    if (listing.status() != 404) co_return listing;
  }
  const bool varies = !options_.fallback.empty() && found.kind == Lookup::Kind::absent;
  if (varies && asks_for_page(request)) {
    path = options_.fallback;
    found = co_await folder_->find(path);
  }
  Response response;
  if (found.kind != Lookup::Kind::file) {
    response = without_file(request, found.kind);
  } else if (encoded_) {
    Response encoded = co_await encoded_->find(request, path, std::move(found.file));
    response = std::move(encoded);
  } else {
    response = request.reply_ok_with_file(std::move(found.file));
  }
  add_disposition(request, path, response);
  if (varies) response.replace("Vary", encoded_ ? "Accept, Accept-Encoding" : "Accept");
  co_return response;
}

Task<Response> StaticFiles::list(Request& request) const {
  const std::string path(request.param("path"));
  const Result<FolderEntriesRef, int> entries = co_await listings_.find(path);
  if (!entries && entries.error() == ENOMEM) co_return http::refuse_for_memory();
  if (!entries) co_return refusal(file::kind_of_error(entries.error()));
  ListingPage page{.path = path, .archives = options_.archives, .types = types_};
  co_await add_readme(*entries, page);
  Response response = listing_response(request, *entries, std::move(page));
  if (options_.compress) compression_.after()(request, response);
  co_return response;
}

Task<Response> StaticFiles::archive(Request& request, ArchiveFormat format) const {
  const std::string path(request.param("path"));
  const Result<file::Folder::Opened, int> opened =
      co_await folder_->open_beneath(path, O_PATH | O_DIRECTORY);
  if (!opened) co_return refusal(file::kind_of_error(opened.error()));
  auto place = ClientPlaces::take(archive_places_, share_of(request));
  if (place == nullptr) co_return refusal(Lookup::Kind::failed);
  std::string_view name = path;
  while (name.ends_with('/')) name.remove_suffix(1);
  name.remove_prefix(name.rfind('/') + 1);
  if (name.empty()) name = "files";
  const bool zip = format == ArchiveFormat::zip;
  auto made = make_archive(folder_, path, std::string(name), format, {.hidden = options_.hidden});
  Response response(std::make_unique<PlacedArchive>(std::move(place), std::move(made)),
                    zip ? "application/zip" : "application/x-tar");
  response.add("Content-Disposition", attachment(std::string(name) + (zip ? ".zip" : ".tar")));
  response.add("Cache-Control", "no-cache");
  co_return response;
}

// Larger readmes than the cache holds in memory are not shown.
Task<void> StaticFiles::add_readme(const FolderEntriesRef& entries, ListingPage& page) const {
  const FolderEntry* const readme = find_readme(*entries);
  if (readme == nullptr) co_return;
  const Lookup found = co_await folder_->find(page.path + readme->name);
  if (found.kind != Lookup::Kind::file || found.file->content().has_descriptor()) co_return;
  page.readme_name = readme->name;
  page.readme = found.file;
}

}  // namespace

http::MediaTypesRef media_types(const FilesOptions& options) {
  Result<http::MediaTypes, std::string> types = http::MediaTypes::make(options.types);
  if (!types) throw std::invalid_argument(types.error());
  return std::make_shared<const http::MediaTypes>(*std::move(types));
}

file::FolderOptions folder_options(const FilesOptions& options, http::MediaTypesRef types) {
  const bool negotiated = options.compress && has_codings();
  return {.make_file = negotiated ? negotiated_file_maker(std::move(types))
                                  : http::file_maker(std::move(types)),
          .fresh_ms = options.fresh.count()};
}

Handler static_files(std::shared_ptr<const file::Folder> folder, const FilesOptions& options,
                     http::MediaTypesRef types) {
  const auto files =
      std::make_shared<const StaticFiles>(std::move(folder), options, std::move(types));
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
    case Lookup::Kind::unkept:
      break;
  }
  return http::error_response(404);
}

}  // namespace h2server::content
