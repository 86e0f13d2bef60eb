#include "net/certs/new_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <filesystem>

#include "base/fd.h"

namespace h2server::net {

namespace {

int write_all(int target, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t count = ::write(target, bytes.data(), bytes.size());
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return count < 0 ? errno : EIO;
    bytes.remove_prefix(static_cast<std::size_t>(count));
  }
  return 0;
}

void flush_folder_of(const std::string& file) {
  const base::Fd folder(::open(folder_of(file).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (folder.valid()) ::fsync(folder.get());  // matters only if the machine crashes
}

}  // namespace

std::string unfinished(const std::string& file) { return file + ".new"; }

std::string folder_of(const std::string& file) {
  const std::filesystem::path folder = std::filesystem::path(file).parent_path();
  return folder.empty() ? "." : folder.string();
}

int write_unfinished(const std::string& file, std::string_view content, mode_t mode) {
  std::error_code failure;
  std::filesystem::create_directories(folder_of(file), failure);
  const std::string name = unfinished(file);
  ::unlink(name.c_str());
  const base::Fd target(::open(name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode));
  if (!target.valid()) return errno;
  const int error = write_all(target.get(), content);
  if (error != 0) return error;
  return ::fsync(target.get()) == 0 ? 0 : errno;
}

int publish(const std::string& file) {
  const std::string name = unfinished(file);
  if (::renameat2(AT_FDCWD, name.c_str(), AT_FDCWD, file.c_str(), RENAME_NOREPLACE) != 0) {
    if (errno != EINVAL) return errno;
    // The file system does not support RENAME_NOREPLACE.
    if (::link(name.c_str(), file.c_str()) != 0) return errno;
    ::unlink(name.c_str());
  }
  flush_folder_of(file);
  return 0;
}

int publish_over(const std::string& file) {
  if (::rename(unfinished(file).c_str(), file.c_str()) != 0) return errno;
  flush_folder_of(file);
  return 0;
}

int make_private_folder(const std::string& folder) {
  std::filesystem::path made;
  int first_error = 0;
  for (const std::filesystem::path& component : std::filesystem::path(folder)) {
    made /= component;
    if (component.empty() || ::mkdir(made.c_str(), 0700) == 0) continue;
    // Some file systems return other errors than EEXIST for folders that exist, so only open()
    // decides.
    if (errno != EEXIST && first_error == 0) first_error = errno;
  }
  const base::Fd opened(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!opened.valid()) return errno == ENOENT && first_error != 0 ? first_error : errno;
  struct stat now{};
  if (::fstat(opened.get(), &now) != 0) return errno;
  if (now.st_uid != ::geteuid()) return EPERM;
  if ((now.st_mode & 0777) == 0700) return 0;
  return ::fchmod(opened.get(), 0700) == 0 ? 0 : errno;
}

}  // namespace h2server::net
