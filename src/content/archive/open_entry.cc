#include "content/archive/open_entry.h"

#include <fcntl.h>

#include <cerrno>
#include <utility>

#include "file/open_beneath.h"

namespace h2server::content {

namespace {

Result<OpenedEntry, int> open_now(int root, const std::string& path, int flags) {
  Result<base::Fd, int> descriptor = file::open_beneath_now(root, path, flags);
  if (!descriptor) return std::unexpected(descriptor.error());
  OpenedEntry opened;
  opened.descriptor = *std::move(descriptor);
  if (::fstat(opened.descriptor.get(), &opened.status) != 0) return std::unexpected(errno);
  if (S_ISREG(opened.status.st_mode)) opened.kind = OpenedEntry::Kind::file;
  if (S_ISDIR(opened.status.st_mode)) opened.kind = OpenedEntry::Kind::directory;
  return opened;
}

// Returns true if a link's target is not there for this server, by its errno value.
bool leads_nowhere(int code) { return code == ENOENT || code == ENOTDIR || code == ELOOP; }

// Opens what has been found to be of that kind. It may have been replaced since then.
Result<OpenedEntry, int> open_to_read(int root, const std::string& path, OpenedEntry::Kind kind,
                                      int flags) {
  if (kind == OpenedEntry::Kind::directory) flags |= O_DIRECTORY;
  Result<OpenedEntry, int> opened = open_now(root, path, O_RDONLY | O_NOCTTY | flags);
  if (opened && opened->kind != kind) return OpenedEntry{};
  return opened;
}

}  // namespace

Result<OpenedEntry, int> open_folder(int root, const std::string& path) {
  return open_now(root, path, O_RDONLY | O_DIRECTORY);
}

Result<OpenedEntry, int> open_entry(int root, const std::string& path) {
  // Looks first: opening a FIFO or a device to read may have effects.
  const Result<OpenedEntry, int> found = open_now(root, path, O_PATH | O_NOFOLLOW);
  if (!found) return std::unexpected(found.error());
  if (found->kind != OpenedEntry::Kind::other)
    return open_to_read(root, path, found->kind, O_NOFOLLOW);
  if (!S_ISLNK(found->status.st_mode)) return OpenedEntry{};
  const Result<OpenedEntry, int> target = open_now(root, path, O_PATH);
  if (!target && leads_nowhere(target.error())) return OpenedEntry{};
  if (!target) return std::unexpected(target.error());
  if (target->kind != OpenedEntry::Kind::file) return OpenedEntry{};
  return open_to_read(root, path, OpenedEntry::Kind::file, 0);
}

bool is_left_out(int code) noexcept {
  switch (code) {
    case ENOENT:  // gone since its folder was read
    case ENOTDIR:
    case ELOOP:  // replaced by a link
    case ESTALE:
    case EACCES:
    case EPERM:
    case ENAMETOOLONG:  // the path beneath the served folder
    case EAGAIN:        // renamed again and again
    case EINVAL:        // the file system does not support it
    case ENXIO:
    case ENODEV:
    case EOVERFLOW:
    case ENOTCONN:  // a mount without its server
      return true;
    default:  // EMFILE, ENFILE, ENOMEM, EIO: other files may fail likewise
      return false;
  }
}

}  // namespace h2server::content
