#include "app/protected_paths.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <stdexcept>
#include <string>
#include <system_error>

#include "h2server/authentication.h"

namespace h2server::app {

namespace {

// Returns the first segment of the path and removes it.
std::string_view take_segment(std::string_view& path) noexcept {
  path.remove_prefix(std::min(path.find_first_not_of('/'), path.size()));
  const std::string_view segment = path.substr(0, path.find('/'));
  path.remove_prefix(segment.size());
  return segment;
}

// Returns true if there is a file at that path, or if a store may have an object there that is
// served at other paths, too.
bool names_file(const config::Site& site, const std::string& path) {
  std::error_code failure;
  if (!site.root.empty()) return std::filesystem::is_regular_file(site.root + path, failure);
  const std::string name = path.substr(path.rfind('/') + 1);
  const bool served_elsewhere =
      std::ranges::find(site.files.index, name) != site.files.index.end() ||
      name == site.files.fallback;
  return !site.store.place.empty() && !name.empty() && served_elsewhere;
}

}  // namespace

bool lies_at_or_below(std::string_view path, std::string_view top) noexcept {
  for (;;) {
    const std::string_view wanted = take_segment(top);
    if (wanted.empty()) return true;
    if (take_segment(path) != wanted) return false;
  }
}

// Resumable uploads of a site with an upload directory become files below /files, so they are
// protected with these.
Middleware protection(const config::ProtectedPath& area, const PasswordFile& users,
                      bool has_uploads) {
  const Middleware inner = basic_authentication(area.path, users);
  const bool stores = has_uploads && lies_at_or_below(area.path, "/files");
  return [path = area.path, stores, around = inner.around()](Request& request, Next next) {
    const bool covered = lies_at_or_below(request.path(), path) ||
                         (stores && lies_at_or_below(request.path(), "/uploads"));
    return covered ? around(request, next) : next(request);
  };
}

// A form for /files names its files itself, and so does the Destination of MOVE and COPY. A file is
// also served at its folder's path, as index or readme.
void check_protected_paths(const config::Site& site) {
  for (const config::ProtectedPath& area : site.protected_paths) {
    std::string_view rest = area.path;
    if (site.has_uploads() && take_segment(rest) == "files" && !take_segment(rest).empty()) {
      throw std::invalid_argument(fmt::format(
          "--auth {} protects a part of the uploads, which can be changed by requests for other "
          "parts; protect /files",
          area.path));
    }
    if (!names_file(site, area.path)) continue;
    throw std::invalid_argument(fmt::format(
        "--auth {} names a file; name its folder, at whose path it may be served, too", area.path));
  }
}

}  // namespace h2server::app
