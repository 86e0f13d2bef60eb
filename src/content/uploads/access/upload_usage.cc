#include "content/uploads/access/upload_usage.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "base/fd.h"

namespace h2server::content {

namespace {

constexpr std::uint64_t magic = 0x3145474153553248;  // "H2USAGE1" on a little-endian machine

// Other servers that start wait. A file system without locks is used without one.
base::Fd lock(const std::string& path) {
  base::Fd file(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
  while (file.valid() && ::flock(file.get(), LOCK_EX) != 0 && errno == EINTR) {
  }
  return file;
}

}  // namespace

struct UploadUsage::Page {
  std::uint64_t magic;  // 0: new
  std::array<Slot, tokens_max> slots;
};

void UploadUsage::Unmap::operator()(Page* page) const noexcept { ::munmap(page, sizeof(Page)); }

Result<UploadUsage, int> UploadUsage::map(int file, std::string path) {
  static_assert(Counter::is_always_lock_free, "processes share it");
  const int flags = MAP_SHARED | (file < 0 ? MAP_ANONYMOUS : 0);
  void* const memory = ::mmap(nullptr, sizeof(Page), PROT_READ | PROT_WRITE, flags, file, 0);
  if (memory == MAP_FAILED) return std::unexpected(errno);
  UploadUsage usage(static_cast<Page*>(memory), std::move(path));
  if (usage.page_->magic != 0 && usage.page_->magic != magic) return std::unexpected(EINVAL);
  usage.page_->magic = magic;
  return usage;
}

Result<UploadUsage, int> UploadUsage::in_memory() { return map(-1, {}); }

Result<UploadUsage, int> UploadUsage::open(const std::string& path) {
  const base::Fd file = lock(path);
  if (!file.valid()) return std::unexpected(errno);
  struct stat status{};
  if (::fstat(file.get(), &status) != 0) return std::unexpected(errno);
  const bool fits = status.st_size == 0 || status.st_size == sizeof(Page);
  if (!S_ISREG(status.st_mode) || !fits) return std::unexpected(EINVAL);
  // Written out, not truncated to: a full disk must not show as SIGBUS later.
  if (const int error = ::posix_fallocate(file.get(), 0, sizeof(Page)); error != 0) {
    if (status.st_size == 0) ::unlink(path.c_str());
    return std::unexpected(error);
  }
  // A mapping keeps its open file, and so would keep the lock.
  const base::Fd mapped(::open(path.c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW));
  if (!mapped.valid()) return std::unexpected(errno);
  return map(mapped.get(), path);
}

UploadUsage::Counter* UploadUsage::find(const Digest& digest) {
  const base::Fd locked = path_.empty() ? base::Fd() : lock(path_);
  const auto found = std::ranges::find_if(page_->slots, [&](const Slot& slot) {
    return slot.digest == digest || slot.digest == Digest{};
  });
  if (found == page_->slots.end()) return nullptr;
  found->digest = digest;
  return &found->bytes;
}

}  // namespace h2server::content
