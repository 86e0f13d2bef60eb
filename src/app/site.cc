#include "app/site.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <exception>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

#include "app/mime_types.h"
#include "content/overlap.h"
#include "content/static_files.h"
#include "content/upload_routes.h"
#include "file/folder.h"
#include "h2server/authentication.h"
#include "h2server/cors.h"
#include "h2server/files.h"
#include "h2server/header_rules.h"
#include "h2server/password_file.h"
#include "h2server/standard_middleware.h"
#include "http/file_head.h"
#include "http/media_type.h"

namespace h2server::app {

namespace {

constexpr int wrong_use = 2;  // exit statuses
constexpr int failed = 1;

// --- middleware -------------------------------------------------------------------------------

// Returns the path without its first segment, which it stores; empty segments don't count, since
// files are found without them.
std::string_view take_segment(std::string_view& path) {
  path.remove_prefix(std::min(path.find_first_not_of('/'), path.size()));
  const std::string_view segment = path.substr(0, path.find('/'));
  path.remove_prefix(segment.size());
  return segment;
}

bool lies_at_or_below(std::string_view path, std::string_view top) {
  for (;;) {
    const std::string_view wanted = take_segment(top);
    if (wanted.empty()) return true;
    if (take_segment(path) != wanted) return false;
  }
}

Middleware protection(const ProtectedPath& area, const PasswordFile& users) {
  const Middleware inner = basic_authentication(area.path, users);
  return [path = area.path, around = inner.around()](Request& request, Next next) {
    return lies_at_or_below(request.path(), path) ? around(request, next) : next(request);
  };
}

std::string read_page(const std::filesystem::path& file) {
  std::ifstream in(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

// Reads NNN.html, and 4xx.html and 5xx.html for the statuses without a page of their own.
Result<std::map<int, std::string>, std::string> read_error_pages(const std::string& directory) {
  std::map<int, std::string> pages;
  std::array<std::string, 2> others;  // for 4xx and 5xx
  std::error_code failure;
  for (const auto& entry : std::filesystem::directory_iterator(directory, failure)) {
    const std::string name = entry.path().filename();
    const bool own = name.size() == 8 && name >= "400" && name < "6" && name.ends_with(".html");
    if (!own) continue;
    if (name == "4xx.html" || name == "5xx.html") {
      others[name[0] == '4' ? 0 : 1] = read_page(entry.path());
    } else if (name.find_first_not_of("0123456789") == 3) {
      pages.emplace(std::stoi(name), read_page(entry.path()));
    }
  }
  if (failure) {
    return std::unexpected(
        fmt::format("can't read the error pages in {}: {}", directory, failure.message()));
  }
  for (int status = 400; status < 600; ++status) {
    const std::string& other = others[status < 500 ? 0 : 1];
    if (!other.empty()) pages.emplace(status, other);
  }
  if (!pages.empty()) return pages;
  return std::unexpected(fmt::format("there is no page such as 404.html, 4xx.html or 5xx.html in "
                                     "--error-pages {}",
                                     directory));
}

Middleware strict_transport_security() {
  return [](Request& request, Response& response) {
    // RFC 6797, 7.2: over TLS only.
    if (request.head().encrypted) response.replace("Strict-Transport-Security", "max-age=31536000");
  };
}

// A file is also served at its folder's path, as index or readme.
void check_protected_paths(const Options& options) {
  for (const ProtectedPath& area : options.site.protected_paths) {
    std::error_code failure;
    if (!std::filesystem::is_regular_file(options.server.root + area.path, failure)) continue;
    throw std::invalid_argument(fmt::format(
        "--auth {} names a file; name its folder, at whose path it may be served, too", area.path));
  }
}

// Outermost first. Throws for what the options' values do not allow.
void add_middleware(const SiteOptions& site, Console* console, Server& server) {
  if (console != nullptr) server.use(console->request_lines());
  if (site.hsts) server.use(strict_transport_security());
  if (!site.headers.empty()) server.use(header_rules(site.headers));
  if (!site.cors_origins.empty()) server.use(cors({.origins = site.cors_origins}));
  std::map<std::string, PasswordFile> users;  // one per file: its paths share the count of guesses
  for (const ProtectedPath& area : site.protected_paths) {
    const auto file = users.try_emplace(area.user_file, area.user_file).first;
    server.use(protection(area, file->second));
  }
}

// An archive of a folder would hold the protected ones below it.
bool is_whole_site(const ProtectedPath& area) { return lies_at_or_below("/", area.path); }

// --- routes -----------------------------------------------------------------------------------

// Returns the options with the media types of the system behind those that the user gave.
FilesOptions with_system_types(FilesOptions files) {
  std::map<std::string, std::string> system = read_mime_types(system_mime_types);
  files.types.merge(system);
  return files;
}

// Each request checks uploaded files again, so that a new upload is visible at once.
file::FolderOptions upload_folder(http::MediaTypesRef types) {
  return {.make_file = http::file_maker(std::move(types)), .fresh_ms = 0};
}

Result<void, Stop> add_routes(const Options& options, Console* console, Server& server) {
  FilesOptions files = with_system_types(options.files);
  const http::MediaTypesRef types = content::media_types(files);
  files.types.clear();  // they are in `types`
  const auto root = file::Folder::open(options.server.root, content::folder_options(files, types));
  if (!root || ::access(options.server.root.c_str(), X_OK) != 0) {
    return std::unexpected(Stop{
        wrong_use, fmt::format("can't open the root {}: {}; name another with --root",
                               options.server.root, std::strerror(root ? errno : root.error()))});
  }
  files.archives =
      files.listing && std::ranges::all_of(options.site.protected_paths, is_whole_site);
  server.add_handler(GET, "/{path...}", Files(*root, files, types));
  if (options.upload_directory.empty()) return {};
  std::error_code failure;
  std::filesystem::create_directories(options.upload_directory, failure);
  const auto uploads = file::Folder::open(options.upload_directory, upload_folder(types));
  if (!uploads || ::access(options.upload_directory.c_str(), W_OK | X_OK) != 0) {
    return std::unexpected(Stop{
        wrong_use,
        fmt::format("can't write to the upload directory {}: {}; name another with "
                    "--upload-dir",
                    options.upload_directory, std::strerror(uploads ? errno : uploads.error()))});
  }
  if (content::overlap((*root)->fd(), (*uploads)->fd())) {
    return std::unexpected(overlapping(options));
  }
  const auto directory = content::UploadDirectory::open((*uploads)->fd());
  if (!directory) {
    return std::unexpected(
        Stop{failed, fmt::format("can't open the upload directory {}: {}", options.upload_directory,
                                 std::strerror(directory.error()))});
  }
  server.add_handler(GET, "/files", content::upload_listing(*uploads, "/files", types));
  server.add_handler(GET, "/files/{file_name}", content::upload_download(*uploads));
  Routes receiving = server.routes();
  if (console != nullptr) receiving = receiving.with(console->upload_switch());
  receiving.post("/files", content::upload_receiver(*directory, "/files", options.uploads));
  return {};
}

}  // namespace

Result<void, Stop> add_site(const Options& options, Console* console, Server& server) {
  try {
    check_protected_paths(options);
    add_middleware(options.site, console, server);
  } catch (const std::exception& error) {
    return std::unexpected(Stop{wrong_use, error.what()});
  }
  if (!options.site.error_pages.empty()) {
    auto pages = read_error_pages(options.site.error_pages);
    if (!pages) return std::unexpected(Stop{wrong_use, std::move(pages.error())});
    server.set_error_handler(error_pages(*std::move(pages)));
  }
  return add_routes(options, console, server);
}

}  // namespace h2server::app
