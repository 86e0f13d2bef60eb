#include "file/content.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <ctime>

#include "base/assert.h"
#include "file/slow_descriptor.h"

namespace h2server::file {

namespace {

constinit std::atomic<std::uint64_t> all_snapshot_bytes{0};

// Reserves bytes of the process's snapshots. Returns false if they would exceed `bytes_max`.
bool reserve(std::uint64_t bytes, std::uint64_t bytes_max) noexcept {
  std::uint64_t now = all_snapshot_bytes.load(std::memory_order_relaxed);
  do {
    if (bytes > bytes_max || now > bytes_max - bytes) return false;
  } while (!all_snapshot_bytes.compare_exchange_weak(now, now + bytes, std::memory_order_relaxed));
  return true;
}

void unreserve(std::uint64_t bytes) noexcept {
  all_snapshot_bytes.fetch_sub(bytes, std::memory_order_relaxed);
}

// Copies a file's first `size` bytes within the kernel. Returns false if it has fewer, or on an
// error: ENOSPC, ENOMEM, EIO, EINVAL from a file system without it.
bool copy_file(int from, int to, std::uint64_t size) {
  off_t offset = 0;
  while (static_cast<std::uint64_t>(offset) < size) {
    const std::size_t left = static_cast<std::size_t>(size - static_cast<std::uint64_t>(offset));
    const ssize_t count = ::sendfile(to, from, &offset, left);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return false;
  }
  return true;
}

// Returns a sealed copy of the file, or no descriptor.
base::Fd sealed_copy(int descriptor, std::uint64_t size) {
  rlimit longest{};
  const bool known = ::getrlimit(RLIMIT_FSIZE, &longest) == 0;
  if (!known || size > longest.rlim_cur) return {};  // writing it would raise SIGXFSZ
  base::Fd copy(::memfd_create("h2server-file", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  constexpr int seals = F_SEAL_WRITE | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL;
  const bool whole = copy.valid() && copy_file(descriptor, copy.get(), size) &&
                     ::fcntl(copy.get(), F_ADD_SEALS, seals) == 0;
  return whole ? std::move(copy) : base::Fd();
}

}  // namespace

std::optional<FileVersion> version_of(int descriptor) {
  struct stat status{};
  if (::fstat(descriptor, &status) != 0) return std::nullopt;
  return FileVersion{.device = status.st_dev,
                     .inode = status.st_ino,
                     .size = static_cast<std::uint64_t>(status.st_size),
                     .modified_s = status.st_mtim.tv_sec,
                     .modified_ns = status.st_mtim.tv_nsec,
                     .changed_s = status.st_ctim.tv_sec,
                     .changed_ns = status.st_ctim.tv_nsec,
                     .links = status.st_nlink};
}

bool is_settled(const FileVersion& version) {
  timespec now{};
  ::clock_gettime(CLOCK_REALTIME_COARSE, &now);
  constexpr std::int64_t tick_ns = 20'000'000;  // two ticks at 100 Hz
  // The difference may be centuries, more nanoseconds than 64 bits hold.
  const std::int64_t age_s = now.tv_sec - version.changed_s;
  if (age_s < 0 || age_s > 1) return age_s > 0;
  return age_s * 1'000'000'000 + now.tv_nsec - version.changed_ns > tick_ns;
}

bool read_whole(int descriptor, std::span<char> room, std::uint64_t offset) {
  while (!room.empty()) {
    const ssize_t count = ::pread(descriptor, room.data(), room.size(), static_cast<off_t>(offset));
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return false;  // truncated, or EIO
    room = room.subspan(static_cast<std::size_t>(count));
    offset += static_cast<std::uint64_t>(count);
  }
  return true;
}

Content::Content(const FileVersion& version, std::unique_ptr<char[]> bytes) noexcept
    : version_(version), held_(std::move(bytes)), bytes_(held_.get()) {}

Content::Content(const FileVersion& version, const char* mapping, base::Fd descriptor,
                 Source source) noexcept
    : version_(version), bytes_(mapping), descriptor_(std::move(descriptor)), source_(source) {}

std::unique_ptr<const Content> Content::map(const FileVersion& version, base::Fd descriptor) {
  void* const start = ::mmap(nullptr, version.size, PROT_READ, MAP_SHARED, descriptor.get(), 0);
  if (start == MAP_FAILED) return nullptr;
  return std::make_unique<const Content>(version, static_cast<const char*>(start),
                                         std::move(descriptor), Source::file);
}

std::unique_ptr<const Content> Content::snapshot(const FileVersion& version, int descriptor,
                                                 std::uint64_t bytes_max) {
  if (!reserve(version.size, bytes_max)) return nullptr;
  base::Fd copy = sealed_copy(descriptor, version.size);
  if (copy.valid() && version_of(descriptor) == version) {
    // Private, because before Linux 6.7 a shared mapping of a memfd sealed against writes fails
    // (EPERM); it has the same pages. Populated, so that no worker takes page faults later.
    void* const start =
        ::mmap(nullptr, version.size, PROT_READ, MAP_PRIVATE | MAP_POPULATE, copy.get(), 0);
    if (start != MAP_FAILED) {
      return std::make_unique<const Content>(version, static_cast<const char*>(start),
                                             std::move(copy), Source::snapshot);
    }
  }
  unreserve(version.size);
  return nullptr;
}

std::unique_ptr<const Content> Content::on_slow_file_system(const FileVersion& version,
                                                            base::Fd descriptor) {
  base::Fd place = reopen(descriptor.get(), O_PATH);
  if (!place.valid() && (errno == EMFILE || errno == ENFILE)) return nullptr;
  // Without /proc, the end of the content may wait.
  if (!place.valid()) place = std::move(descriptor);
  return std::make_unique<const Content>(version, nullptr, std::move(place), Source::slow_file);
}

std::uint64_t Content::snapshot_bytes() noexcept {
  return all_snapshot_bytes.load(std::memory_order_relaxed);
}

Content::~Content() {
  if (mapped() || is_snapshot()) ::munmap(const_cast<char*>(bytes_), version_.size);
  if (is_snapshot()) unreserve(version_.size);
}

bool Content::unchanged() const noexcept {
  if (!changes_with_file()) return true;
  // The descriptor leads to the inode that was opened, even if its name leads elsewhere by now.
  const std::optional<FileVersion> now = version_of(descriptor_.get());
  if (!now) return false;
  const bool same = now->size == version_.size && now->modified_s == version_.modified_s &&
                    now->modified_ns == version_.modified_ns;
  const bool untouched =
      now->changed_s == version_.changed_s && now->changed_ns == version_.changed_ns;
  // A file that was replaced or removed has lost a name; its content is the same.
  return same && (untouched || now->links < version_.links);
}

bool Content::copy(std::span<char> room, std::uint64_t offset) const {
  ASSERT(offset <= size() && room.size() <= size() - offset);
  if (may_wait()) {
    SlowDescriptor file;
    const int opened = file.open_once(descriptor());
    const bool read = read_whole(opened >= 0 ? opened : descriptor(), room, offset);
    file.close();
    return read && unchanged();
  }
  if (mapped()) return read_whole(descriptor(), room, offset) && unchanged();
  std::ranges::copy_n(bytes_ + offset, static_cast<std::ptrdiff_t>(room.size()), room.begin());
  return true;
}

}  // namespace h2server::file
