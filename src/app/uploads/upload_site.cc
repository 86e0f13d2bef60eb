#include "app/uploads/upload_site.h"

#include <fmt/format.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <system_error>
#include <utility>

#include "app/admin/own_names.h"
#include "app/protected_paths.h"
#include "app/system/stop.h"
#include "app/uploads/upload_places.h"
#include "content/names/overlap.h"
#include "content/uploads/access/upload_access.h"
#include "content/uploads/area/upload_directory.h"
#include "content/uploads/area/upload_event.h"
#include "content/uploads/receive/raw_upload.h"
#include "content/uploads/resumable/local_uploads.h"
#include "content/uploads/resumable/resumable_routes.h"
#include "content/uploads/store_upload_routes.h"
#include "content/uploads/stored/resumable_in_store.h"
#include "content/uploads/stored/store_uploads.h"
#include "content/uploads/upkeep.h"
#include "content/uploads/upload_routes.h"
#include "content/webdav/webdav.h"
#include "h2server/authentication.h"
#include "http/file_head.h"

namespace h2server::app {

namespace {

content::AccessMode mode_of(config::UploadAccess access) {
  switch (access) {
    case config::UploadAccess::drop:
      return content::AccessMode::drop;
    case config::UploadAccess::read:
      return content::AccessMode::read;
    case config::UploadAccess::open:
    case config::UploadAccess::full:
      break;
  }
  return content::AccessMode::full;
}

Result<content::UploadAccessRef, Stop> open_access(const config::Site& site,
                                                   const UploadParts& parts) {
  if (site.upload_access == config::UploadAccess::open) return nullptr;
  const std::string host = site.hosts.empty() ? "" : site.hosts.front();
  const std::string& file = site.upload_token_file;
  const auto of_run = std::ranges::find_if(parts.run_tokens, [&](const ShownToken& one) {
    return one.host == host && one.file.empty();
  });
  const auto of_file = std::ranges::find_if(
      parts.tokens, [&](const ShownToken& one) { return !file.empty() && one.file == file; });
  const bool shared = of_file != parts.tokens.end();  // an earlier site makes the file
  const std::string known = shared                             ? of_file->token
                            : of_run != parts.run_tokens.end() ? of_run->token
                                                               : std::string();
  const Result<UploadTokens, Stop> tokens =
      UploadTokens::open({.mode = mode_of(site.upload_access),
                          .file = file,
                          .run_token = known,
                          .quota_bytes = site.upload_quota_bytes,
                          .is_named = !site.hosts.empty()});
  if (!tokens) return std::unexpected(tokens.error());
  if (!tokens->shown().empty()) {
    parts.tokens.push_back(
        {.host = host, .token = tokens->shown(), .file = shared ? std::string() : file});
  }
  return tokens->access();
}

// Each request checks uploaded files again, so that a new upload is visible at once.
file::FolderOptions folder_options(http::MediaTypesRef types) {
  return {.make_file = http::file_maker(std::move(types)), .fresh_ms = 0};
}

// The opened directory of a site, as its readers and its writers see it.
struct Opened {
  std::shared_ptr<const file::Folder> folder;
  std::shared_ptr<content::UploadDirectory> directory;
};

Result<Opened, Stop> open_directory(const config::Site& site, const file::Folder* root,
                                    const http::MediaTypesRef& types) {
  const std::string& path = site.upload_directory;
  std::error_code failure;
  std::filesystem::create_directories(path, failure);
  auto folder = file::Folder::open(path, folder_options(types));
  if (!folder || ::access(path.c_str(), W_OK | X_OK) != 0) {
    return std::unexpected(Stop{
        exit_wrong_use, fmt::format("can't write to the upload directory {}: {}; name another with "
                                    "--upload-dir",
                                    path, std::strerror(folder ? errno : folder.error()))});
  }
  if (root != nullptr && content::overlap(root->fd(), (*folder)->fd())) {
    return std::unexpected(overlapping(site.root, path));
  }
  auto directory = content::UploadDirectory::share((*folder)->fd());
  if (!directory) {
    return std::unexpected(Stop{exit_failed, fmt::format("can't open the upload directory {}: {}",
                                                         path, std::strerror(directory.error()))});
  }
  return Opened{*std::move(folder), *std::move(directory)};
}

bool asks_for_password(const config::Site& site) {
  return std::ranges::any_of(site.protected_paths, [](const config::ProtectedPath& area) {
    return lies_at_or_below("/files", area.path);
  });
}

// For the uploads of all sites, each of which takes a descriptor, and perhaps that of a folder and
// that of a connection: half of the descriptors, and an eighth for one client, so that what is left
// serves others. The server raises its limit to the hard one.
std::shared_ptr<content::ClientPlaces> places_of_uploads() {
  rlimit limit{};
  ::getrlimit(RLIMIT_NOFILE, &limit);  // fails only for an invalid argument
  constexpr std::size_t each = 3;
  const std::size_t uploads = std::max<std::size_t>(limit.rlim_max, 96) / each;
  static const auto places = std::make_shared<content::ClientPlaces>(uploads / 2, uploads / 8);
  return places;
}

// The routes of one area: who may use them, and what is told about it.
class AreaRoutes {
 public:
  // `access` is null if everybody has all rights. `place` is where the files lie.
  AreaRoutes(const config::Site& site, const std::string& place, const UploadParts& parts,
             const Routes& routes, content::UploadAccessRef access)
      : console_(parts.console),
        report_(content::report_uploads(place, parts.hooks.sink_of(site.upload_hook))),
        routes_(routes),
        access_(std::move(access)),
        checks_names_(access_ == nullptr && site.hosts.empty() && !asks_for_password(site)) {}

  [[nodiscard]] Routes open_to(content::Rights any_of) const {
    if (checks_names_) return routes_.with(own_names_only());
    return access_ == nullptr ? routes_ : routes_.with(content::upload_access(access_, any_of));
  }
  // For what changes files: the console may switch it off, and hooks hear of it.
  [[nodiscard]] Routes changing(content::Rights any_of) const {
    Routes routes = open_to(any_of).with(limit_uploads(places_of_uploads()));
    if (console_ != nullptr) routes = routes.with(console_->upload_switch());
    return routes.with(report_);
  }

 private:
  Console* const console_;
  const Middleware report_;
  const Routes& routes_;
  const content::UploadAccessRef access_;
  const bool checks_names_;  // neither credentials nor the site's names keep strangers out
};

content::PendingLimits limits_of(const config::Site& site) {
  content::PendingLimits limits;
  limits.expire_s = site.upload_expiry_ms / 1000;
  limits.sweep_ms_min = std::clamp<std::int64_t>(site.upload_expiry_ms, 1000, limits.sweep_ms_min);
  return limits;
}

using enum content::Right;

// POST of forms and resumable uploads, with whoever keeps them up. Returns what a PUT needs that
// may begin one.
content::ResumableServiceRef add_receiving(Server& server, const AreaRoutes& area,
                                           content::UploadBackendRef backend,
                                           std::shared_ptr<content::ResumableUploads> resumable,
                                           const UploadOptions& options) {
  area.changing(upload).post("/files",
                             content::upload_receiver(std::move(backend), "/files", options));
  server.spawn(content::keep_up(resumable));
  Routes routes = area.changing(upload);
  return content::add_resumable_routes(
      routes, std::move(resumable),
      {.base = "/uploads", .files = "/files", .stored = content::report_stored});
}

void add_put(const AreaRoutes& area, content::ResumableServiceRef service,
             content::UploadBackendRef backend, const UploadOptions& options) {
  area.changing(upload).put(
      "/files/{path...}",
      content::resumable_put(std::move(service),
                             content::raw_upload(std::move(backend), {.options = options})));
}

// To whom locks belong: the token, or, where none is asked for, the user.
std::function<std::string(const Request&)> owner_of_locks(const content::UploadAccessRef& access) {
  if (access == nullptr) return {};
  return [](const Request& request) {
    const auto* const user = request.attached<AuthenticatedUser>();
    return (user != nullptr ? user->name : std::string()) + '\0' + content::token_key(request);
  };
}

// Adds the routes of one area whose files are in a directory.
class Area {
 public:
  Area(const config::Site& site, Opened opened, http::MediaTypesRef types, const UploadParts& parts,
       const Routes& routes, content::UploadAccessRef access)
      : server_(parts.server),
        site_(site),
        options_(site.uploads),
        opened_(std::move(opened)),
        types_(std::move(types)),
        owner_of_locks_(owner_of_locks(access)),
        routes_(site, site.upload_directory, parts, routes, std::move(access)) {
    options_.folders |= site.webdav;  // its clients make some
  }

  void add_pages();
  void add_uploads();
  void add_managing();

 private:
  Server& server_;
  const config::Site& site_;
  UploadOptions options_;
  const Opened opened_;
  const content::UploadBackendRef backend_{content::directory_backend(opened_.directory)};
  const http::MediaTypesRef types_;
  const std::function<std::string(const Request&)> owner_of_locks_;
  const AreaRoutes routes_;
  content::ResumableServiceRef service_ = {};  // once add_uploads() was called
};

void Area::add_pages() {
  const auto pages =
      content::make_upload_site(opened_.folder, {.base = "/files",
                                                 .resumable_at = "/uploads",
                                                 .folders = options_.folders,
                                                 .manage = site_.upload_manage || site_.webdav,
                                                 .options = options_,
                                                 .types = types_});
  const Routes reading = routes_.open_to(list | read | upload);
  Routes(reading).get("/files", content::upload_listing(pages));
  Routes(reading).get("/files/{path...}", content::upload_download(pages));
}

void Area::add_uploads() {
  auto store =
      std::make_shared<content::PendingUploads>(opened_.directory, options_, limits_of(site_));
  service_ =
      add_receiving(server_, routes_, backend_, content::local_uploads(std::move(store)), options_);
  if (!site_.webdav) add_put(routes_, service_, backend_, options_);  // that has its own
}

void Area::add_managing() {
  if (site_.webdav) {
    UploadOptions options = options_;
    options.overwrite = true;
    Routes reading = routes_.open_to(list | read);
    Routes writing = routes_.changing(manage);
    content::add_webdav_routes(
        reading, writing,
        {.base = "/files",
         .directory = opened_.directory,
         .uploads = options,
         .types = types_,
         .put = content::resumable_put(
             service_,
             content::raw_upload(backend_, {.options = options, .locks_are_checked = true})),
         .user = owner_of_locks_});
  } else if (site_.upload_manage) {
    const content::ManageOptions options{.base = "/files", .uploads = options_};
    Routes routes = routes_.changing(manage);
    routes.del("/files/{path...}", content::manage_delete(opened_.directory, options));
    routes.route({MOVE}, "/files/{path...}", content::manage_move(opened_.directory, options));
  }
  if (options_.folders && !site_.webdav) {
    routes_.changing(upload).route(
        {MKCOL}, "/files/{path...}",
        content::manage_make_folder(opened_.directory, {.base = "/files", .uploads = options_}));
  }
}

}  // namespace

Result<void, Stop> add_uploads(const config::Site& site, const file::Folder* root,
                               const http::MediaTypesRef& types, const UploadParts& parts,
                               const Routes& routes) {
  Result<Opened, Stop> opened = open_directory(site, root, types);
  if (!opened) return std::unexpected(opened.error());
  Result<content::UploadAccessRef, Stop> access = open_access(site, parts);
  if (!access) return std::unexpected(access.error());
  Area area(site, *std::move(opened), types, parts, routes, *std::move(access));
  area.add_pages();
  area.add_uploads();
  area.add_managing();
  return {};
}

std::string store_upload_place(const config::Site& site) {
  const std::string& place = site.store.place;
  return place + (place.ends_with('/') ? "files" : "/files");
}

Result<void, Stop> add_store_uploads(const config::Site& site, OpenedStore opened,
                                     const http::MediaTypesRef& types, const UploadParts& parts,
                                     const Routes& routes) {
  Result<content::UploadAccessRef, Stop> access = open_access(site, parts);
  if (!access) return std::unexpected(access.error());
  const UploadOptions& options = site.uploads;
  const AreaRoutes area(site, store_upload_place(site), parts, routes, *std::move(access));
  const auto uploads = std::make_shared<content::StoreUploads>(
      opened.store, content::part_budget_of_process(),
      content::StoreUploadsOptions{.expire_s = site.upload_expiry_ms / 1000, .types = types});
  parts.server.spawn(content::keep_up(uploads));
  const Handler pages = content::store_upload_pages(uploads,
                                                    {.base = "/files",
                                                     .resumable_at = "/uploads",
                                                     .events = false,
                                                     .options = options,
                                                     .types = types},
                                                    std::move(opened.copies));
  Routes reading = area.open_to(list | read | upload);
  reading.get("/files", pages);
  reading.get("/files/{path...}", pages);
  auto resumable = content::resumable_in_store(
      std::move(opened.store), {.pending = content::pending_places_of(store_upload_place(site)),
                                .types = types,
                                .uploads = options,
                                .limits = limits_of(site)});
  const content::ResumableServiceRef service =
      add_receiving(parts.server, area, uploads, std::move(resumable), options);
  add_put(area, service, uploads, options);
  return {};
}

}  // namespace h2server::app
