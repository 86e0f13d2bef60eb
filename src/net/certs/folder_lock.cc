#include "net/certs/folder_lock.h"

#include <fcntl.h>
#include <sys/file.h>

#include <cerrno>
#include <filesystem>

namespace h2server::net {

base::Fd lock_folder_of(const std::string& file) {
  const std::filesystem::path parent = std::filesystem::path(file).parent_path();
  const char* const name = parent.empty() ? "." : parent.c_str();
  base::Fd folder(::open(name, O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  while (folder.valid() && ::flock(folder.get(), LOCK_EX) != 0 && errno == EINTR) {
  }
  return folder;
}

}  // namespace h2server::net
