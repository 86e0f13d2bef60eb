#include "content/storage/commit_file.h"

#include <fcntl.h>
#include <linux/fs.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <optional>

#include "base/fd.h"
#include "file/content.h"
#include "http/file_head.h"

namespace h2server::content {

namespace {

// Linux reports a failed write once per open file, so it is not tried again (fsync(2)).
Result<void, int> sync_now(int descriptor) {
  while (::fsync(descriptor) != 0) {
    if (errno == EINVAL || errno == ENOSYS) return {};  // this file system has no fsync
    if (errno != EINTR) return std::unexpected(errno);  // EIO, ENOSPC, EDQUOT, EROFS
  }
  return {};
}

}  // namespace

Result<void, int> sync_file(int file) { return sync_now(file); }

Result<void, int> sync_directory(int directory) {
  const base::Fd readable(::openat(directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!readable.valid()) return std::unexpected(errno);  // EACCES, EMFILE, ENFILE, ENOENT
  return sync_now(readable.get());
}

Result<void, int> rename_file(int from_directory, const std::string& from, int to_directory,
                              const std::string& to, Existing existing) {
  if (existing == Existing::replace) {
    if (::renameat(from_directory, from.c_str(), to_directory, to.c_str()) == 0) return {};
    return std::unexpected(errno);
  }
  if (::syscall(SYS_renameat2, from_directory, from.c_str(), to_directory, to.c_str(),
                RENAME_NOREPLACE) == 0) {
    return {};
  }
  // Some file systems lack RENAME_NOREPLACE; link() refuses an existing name on all of them.
  if (errno != EINVAL && errno != ENOSYS) return std::unexpected(errno);
  if (::linkat(from_directory, from.c_str(), to_directory, to.c_str(), 0) != 0) {
    return std::unexpected(errno);
  }
  ::unlinkat(from_directory, from.c_str(), 0);
  return {};
}

Result<void, int> commit_file(int file, int from_directory, const std::string& from,
                              int to_directory, const std::string& to, Existing existing,
                              Durability durability) {
  if (durability != Durability::none) {
    const Result<void, int> synced = sync_file(file);
    if (!synced) return synced;
  }
  const Result<void, int> renamed = rename_file(from_directory, from, to_directory, to, existing);
  if (!renamed || durability != Durability::file_and_directory) return renamed;
  return sync_directory(to_directory);
}

std::string etag_of(int directory, const std::string& name) {
  const base::Fd file(::openat(directory, name.c_str(), O_PATH | O_NOFOLLOW | O_CLOEXEC));
  if (!file.valid()) return {};
  const std::optional<file::FileVersion> version = file::version_of(file.get());
  return version ? http::FileHead(*version, {}, 0).etag : std::string();
}

}  // namespace h2server::content
