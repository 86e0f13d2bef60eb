#include "file/content.h"

#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <ctime>

#include "base/assert.h"

namespace h2server::file {

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

Content::Content(const FileVersion& version, const char* mapping, base::Fd descriptor) noexcept
    : version_(version), bytes_(mapping), descriptor_(std::move(descriptor)) {}

std::unique_ptr<const Content> Content::map(const FileVersion& version, base::Fd descriptor) {
  void* const start = ::mmap(nullptr, version.size, PROT_READ, MAP_SHARED, descriptor.get(), 0);
  if (start == MAP_FAILED) return nullptr;
  return std::make_unique<const Content>(version, static_cast<const char*>(start),
                                         std::move(descriptor));
}

Content::~Content() {
  if (mapped()) ::munmap(const_cast<char*>(bytes_), version_.size);
}

bool Content::unchanged() const noexcept {
  if (!mapped()) return true;
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
  if (mapped()) return read_whole(descriptor(), room, offset) && unchanged();
  std::ranges::copy_n(bytes_ + offset, static_cast<std::ptrdiff_t>(room.size()), room.begin());
  return true;
}

}  // namespace h2server::file
