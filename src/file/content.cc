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
#include <thread>

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

// Returns nullopt if the file is no longer of that version.
std::optional<ContentSample> sample_of(const FileVersion& version, int descriptor, bool may_wait) {
  std::optional<ContentSample> sample = ContentSample::take(descriptor, version.size, may_wait);
  if (sample && version_of(descriptor) != version) sample.reset();
  return sample;
}

bool same_time_of_writing(const FileVersion& one, const FileVersion& other) noexcept {
  return one.modified_s == other.modified_s && one.modified_ns == other.modified_ns;
}

// A write gives a file its new time first, and its new length when the bytes are there.
constexpr int waits_max = 10;

std::unexpected<Error> failure(std::string_view what) { return std::unexpected(Error{0, what}); }

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
                 Source source, std::optional<ContentSample> sample) noexcept
    : version_(version),
      bytes_(mapping),
      descriptor_(std::move(descriptor)),
      source_(source),
      sample_(sample) {}

std::unique_ptr<const Content> Content::map(const FileVersion& version, base::Fd descriptor) {
  void* const start = ::mmap(nullptr, version.size, PROT_READ, MAP_SHARED, descriptor.get(), 0);
  const int error = errno;
  const std::optional<ContentSample> sample = sample_of(version, descriptor.get(), false);
  if (start == MAP_FAILED) {
    auto content = std::make_unique<const Content>(version, nullptr, std::move(descriptor),
                                                   Source::read_file, sample);
    errno = error;
    return content;
  }
  return std::make_unique<const Content>(version, static_cast<const char*>(start),
                                         std::move(descriptor), Source::mapped_file, sample);
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
  const std::optional<ContentSample> sample = sample_of(version, descriptor.get(), true);
  base::Fd place = reopen(descriptor.get(), O_PATH);
  if (!place.valid() && (errno == EMFILE || errno == ENFILE)) return nullptr;
  // Without /proc, the end of the content may wait.
  if (!place.valid()) place = std::move(descriptor);
  return std::make_unique<const Content>(version, nullptr, std::move(place), Source::read_file,
                                         sample);
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
  const bool untouched =
      now->changed_s == version_.changed_s && now->changed_ns == version_.changed_ns;
  // A file that was replaced or removed has lost a name; its content is the same.
  return now->size == version_.size && same_time_of_writing(*now, version_) &&
         (untouched || now->links < version_.links);
}

Result<void> Content::check(bool last) const {
  if (!changes_with_file()) return {};
  std::optional<FileVersion> now = version_of(descriptor());
  const auto being_written = [&] {
    return now && now->size == version_.size && !same_time_of_writing(*now, version_);
  };
  for (int i = 0; i < waits_max && last && being_written(); ++i) {
    std::this_thread::yield();
    now = version_of(descriptor());
  }
  if (!now) return std::unexpected(Error{errno, "fstat of a file that is sent"});
  if (*now == version_) return {};
  if (now->size < version_.size) return failure("the file was truncated while it was sent");
  if (being_written() && (last || is_settled(*now))) {
    return failure("the file was written to while it was sent");
  }
  // With the same time, its names or rights have changed: or it was written to, and its time set.
  // With another one, it has grown, or was rewritten and is longer now.
  const bool same_bytes = sample_ ? is_as_sampled() : same_time_of_writing(*now, version_);
  return same_bytes ? Result<void>() : failure("the file was rewritten while it was sent");
}

bool Content::is_as_sampled() const {
  if (!may_wait()) return sample_->is_still_in(descriptor(), false);
  SlowDescriptor file;
  const int opened = file.open_once(descriptor());
  const bool same = sample_->is_still_in(opened >= 0 ? opened : descriptor(), true);
  file.close();
  return same;
}

Result<void> Content::copy(std::span<char> room, std::uint64_t offset, bool last) const {
  ASSERT(offset <= size() && room.size() <= size() - offset);
  if (!changes_with_file()) {
    std::ranges::copy_n(bytes_ + offset, static_cast<std::ptrdiff_t>(room.size()), room.begin());
    return {};
  }
  SlowDescriptor file;
  const int opened = may_wait() ? file.open_once(descriptor()) : -1;
  const bool read = read_whole(opened >= 0 ? opened : descriptor(), room, offset);
  file.close();
  return read ? check(last) : failure("the file was truncated, or can't be read");
}

}  // namespace h2server::file
