#include "h2server/file.h"

#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>

namespace h2server {

namespace {
std::atomic<std::uint64_t> files{0};
}

File::File() noexcept : number(files.fetch_add(1, std::memory_order_relaxed) + 1) {}

File::~File() {
  if (mapped) ::munmap(const_cast<char*>(bytes), version.size);
  if (descriptor >= 0) ::close(descriptor);
}

bool File::unchanged() const noexcept {
  if (!mapped) return true;
  struct stat now{};
  // The descriptor refers to the inode that was opened, even if its name now refers to another.
  if (::fstat(descriptor, &now) != 0) return false;
  const bool same = static_cast<std::uint64_t>(now.st_size) == version.size &&
                    now.st_mtim.tv_sec == version.modified_s &&
                    now.st_mtim.tv_nsec == version.modified_ns;
  const bool untouched =
      now.st_ctim.tv_sec == version.changed_s && now.st_ctim.tv_nsec == version.changed_ns;
  // Replacing or removing a file changes its ctime and takes a link away; the content stays.
  return same && (untouched || now.st_nlink < version.links);
}

}  // namespace h2server
