#include "content/webdav/webdav_files.h"

#include <fcntl.h>

#include <algorithm>
#include <cerrno>

#include "content/names/file_name.h"
#include "content/storage/upload_path.h"
#include "http/file_head.h"
#include "io/file_call.h"

namespace h2server::content {

namespace {

constexpr int attempts_max = 8;               // EAGAIN: something above was renamed meanwhile
constexpr std::size_t path_bytes_max = 4000;  // PATH_MAX of Linux is 4096

// Calls `good` with each segment until it returns false. Returns false then.
template <class Good>
bool all_segments(std::string_view path, Good good) {
  while (!path.empty()) {
    const std::size_t end = std::min(path.find('/'), path.size());
    if (!good(path.substr(0, end))) return false;
    if (end + 1 == path.size()) return false;  // an empty segment at the end
    path.remove_prefix(std::min(end + 1, path.size()));
  }
  return true;
}

Result<FileState, int> state_of(const struct statx& found) {
  FileState state;
  state.is_folder = S_ISDIR(found.stx_mode);
  if (!state.is_folder && !S_ISREG(found.stx_mode)) return std::unexpected(ENOENT);
  const bool has_birth = (found.stx_mask & STATX_BTIME) != 0;
  state.created_s = has_birth ? found.stx_btime.tv_sec : found.stx_mtime.tv_sec;
  state.version.inode = found.stx_ino;
  state.version.size = found.stx_size;
  state.version.modified_s = found.stx_mtime.tv_sec;
  state.version.modified_ns = found.stx_mtime.tv_nsec;
  state.version.changed_s = found.stx_ctime.tv_sec;
  state.version.changed_ns = found.stx_ctime.tv_nsec;
  state.version.links = found.stx_nlink;
  return state;
}

}  // namespace

bool is_visible_name(std::string_view name) noexcept {
  return !name.empty() && !name.starts_with('.') && !name.starts_with(temporary_file_prefix);
}

bool is_visible_path(std::string_view path) noexcept {
  return path.size() <= path_bytes_max && all_segments(path, is_visible_name);
}

unsigned depth_of(std::string_view path) noexcept {
  return static_cast<unsigned>(std::ranges::count(path, '/'));
}

bool is_safe_path(std::string_view path) {
  return path.size() <= path_bytes_max && depth_of(path) < UploadPathLimits::segments_max &&
         all_segments(
             path,
             [](std::string_view segment) {
               return is_visible_name(segment) && safe_file_name(segment) == segment;
             });
}

PathParts split_path(std::string_view path) {
  return {.folder = std::string(folder_of(path)),
          .name = std::string(path.substr(path.rfind('/') + 1))};  // npos + 1 is 0: all of it
}

Result<base::Fd, int> open_below(int root, const std::string& path, int flags) {
  // openat2() refuses O_NONBLOCK with O_PATH, which never blocks.
  if ((flags & O_PATH) == 0) flags |= O_NONBLOCK;
  const open_how how{.flags = static_cast<std::uint64_t>(flags | O_CLOEXEC),
                     .mode = 0,
                     .resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS};
  const char* const name = path.empty() ? "." : path.c_str();
  int result = -EAGAIN;
  for (int i = 0; i < attempts_max && (result == -EAGAIN || result == -EINTR); ++i) {
    result = io::FileCall::open(root, name, how).make(true);
  }
  if (result >= 0) return base::Fd(result);
  // ELOOP and EXDEV: a link or ".." on the way. ENOTDIR stays: a file is where a folder should be.
  return std::unexpected(result == -ELOOP || result == -EXDEV ? ENOENT : -result);
}

Result<FileState, int> look_at(int folder, const std::string& name) {
  struct statx found{};
  const char* const path = name.empty() ? "" : name.c_str();
  const int flags = AT_SYMLINK_NOFOLLOW | (name.empty() ? AT_EMPTY_PATH : 0);
  if (::statx(folder, path, flags, STATX_BASIC_STATS | STATX_BTIME, &found) != 0) {
    return std::unexpected(errno);
  }
  return state_of(found);
}

Result<FileState, int> look_at_path(int root, const std::string& path) {
  const Result<base::Fd, int> opened = open_below(root, path, O_PATH | O_NOFOLLOW);
  if (!opened) return std::unexpected(opened.error());
  return look_at(opened->get(), {});
}

std::string entity_tag(const file::FileVersion& version) {
  return http::FileHead(version, "text/plain", version.modified_s).etag;
}

int status_of_error(int error) noexcept {
  switch (error) {
    case ENOENT:
      return 404;
    case ENOTDIR:    // a file is where a folder should be
    case ENOTEMPTY:  // something that is not shown is in the folder
    case EISDIR:
    case EINVAL:  // a folder would be moved below itself
      return 409;
    case EACCES:
    case EPERM:
    case EROFS:
    case EBUSY:  // a mount point
    case EXDEV:  // another file system
    case ENAMETOOLONG:
      return 403;
    case EFBIG:
      return 413;
    case ENOSPC:
    case EDQUOT:
    case EMLINK:
      return 507;
    case EMFILE:
    case ENFILE:
    case ENOMEM:
    case EAGAIN:
      return 503;
    default:
      return 500;  // EIO and what a file system invents
  }
}

}  // namespace h2server::content
