#include "content/storage/upload_path.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "content/names/file_name.h"

namespace h2server::content {

namespace {

constexpr int path_flags = O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;

std::optional<std::string> safe_segment(std::string_view claimed) {
  if (claimed.starts_with('.')) return std::nullopt;  // hidden, "." or ".."
  return safe_file_name(claimed);
}

// Opens the folder `name` of `directory`, which is made if it is missing and `create`. `made` is
// then true.
Result<base::Fd, int> open_upload_folder(int directory, const std::string& name, bool create,
                                         bool& made) {
  for (;;) {
    base::Fd folder(::openat(directory, name.c_str(), path_flags));
    if (folder.valid()) return folder;
    if (errno == EINTR) continue;
    if (errno != ENOENT || !create) return std::unexpected(errno);
    if (::mkdirat(directory, name.c_str(), 0755) == 0) {
      made = true;
      continue;
    }
    if (errno != EEXIST) return std::unexpected(errno);  // else another upload has just made it
  }
}

}  // namespace

std::optional<std::string> safe_upload_path(std::string_view claimed, bool folders) {
  if (!folders || !claimed.contains('/')) return safe_file_name(claimed);
  std::string path;
  std::size_t segments = 0;
  for (;;) {
    const std::size_t end = std::min(claimed.find('/'), claimed.size());
    const std::optional<std::string> segment = safe_segment(claimed.substr(0, end));
    if (!segment || ++segments > UploadPathLimits::segments_max) return std::nullopt;
    path += *segment;
    if (path.size() > UploadPathLimits::bytes_max) return std::nullopt;
    if (end == claimed.size()) return path;
    path += '/';
    claimed.remove_prefix(end + 1);
  }
}

Result<UploadParent, int> open_upload_parent(int directory, const std::string& path, bool create) {
  UploadParent parent;
  parent.directory = base::Fd(::openat(directory, ".", path_flags));
  if (!parent.directory.valid()) return std::unexpected(errno);
  std::size_t begin = 0;
  for (;;) {
    const std::size_t end = path.find('/', begin);
    if (end == std::string::npos) break;
    bool made = false;
    Result<base::Fd, int> folder =
        open_upload_folder(parent.directory.get(), path.substr(begin, end - begin), create, made);
    if (made) parent.made.push_back(path.substr(0, end));
    if (!folder) {
      remove_made_folders(directory, parent.made);
      return std::unexpected(folder.error());
    }
    parent.directory = *std::move(folder);
    begin = end + 1;
  }
  parent.name = path.substr(begin);
  return parent;
}

void remove_made_folders(int directory, const std::vector<std::string>& made) noexcept {
  for (std::size_t i = made.size(); i-- > 0;) {
    // ENOTEMPTY: another upload uses it. ENOENT: it was removed or renamed.
    if (::unlinkat(directory, made[i].c_str(), AT_REMOVEDIR) != 0) return;
  }
}

std::string_view folder_of(std::string_view path) noexcept {
  const std::size_t slash = path.rfind('/');
  return path.substr(0, slash == std::string_view::npos ? 0 : slash);
}

bool is_at_or_below(std::string_view path, std::string_view folder) noexcept {
  if (folder.empty()) return true;
  if (!path.starts_with(folder)) return false;
  return path.size() == folder.size() || path[folder.size()] == '/';
}

}  // namespace h2server::content
