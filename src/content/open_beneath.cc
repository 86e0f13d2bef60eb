#include "content/open_beneath.h"

#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <string>

namespace h2server::content {

namespace {

constexpr int attempts_max = 8;  // EAGAIN: something above was renamed meanwhile

int call_openat2(int directory, const char* path, int flags) noexcept {
  open_how how{};
  how.flags = static_cast<std::uint64_t>(flags | O_CLOEXEC | O_NONBLOCK);
  // Links of /proc lead anywhere; those that stay beneath are the owner's choice.
  how.resolve = RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS;
  return static_cast<int>(::syscall(SYS_openat2, directory, path, &how, sizeof how));
}

}  // namespace

Result<base::Fd, int> open_beneath(int directory, std::string_view path, int flags) {
  path.remove_prefix(std::min(path.find_first_not_of('/'), path.size()));
  const std::string name(path.empty() ? std::string_view(".") : path);
  for (int attempt = 0; attempt < attempts_max; ++attempt) {
    base::Fd opened(call_openat2(directory, name.c_str(), flags));
    if (opened.valid()) return opened;
    if (errno != EAGAIN && errno != EINTR) break;
  }
  return std::unexpected(errno == EXDEV ? ENOENT : errno);
}

int probe_open_beneath() noexcept {
  const base::Fd opened(call_openat2(AT_FDCWD, ".", O_RDONLY | O_DIRECTORY));
  return opened.valid() ? 0 : errno;
}

}  // namespace h2server::content
