#include "content/storage/upload_space.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statvfs.h>

#include <algorithm>
#include <limits>
#include <memory>
#include <string_view>

#include "base/clock.h"
#include "base/fd.h"
#include "base/out_of_memory.h"
#include "content/names/file_name.h"
#include "content/storage/directory_entries.h"
#include "content/storage/pending_files.h"

namespace h2server::content {

namespace {

struct Disk {
  std::uint64_t free = std::numeric_limits<std::uint64_t>::max();  // bytes, for unprivileged users
  std::uint64_t reserve = 0;
};

// A file system that does not report its size (EIO, ENOSYS, a size of 0) counts as not full until a
// write fails.
Disk look_at_disk(int directory, const UploadOptions& options) {
  if (options.reserve_bytes == 0) return {};
  struct statvfs found{};
  if (::fstatvfs(directory, &found) != 0 || found.f_blocks == 0) return {};
  const std::uint64_t size = std::uint64_t{found.f_blocks} * found.f_frsize;
  const std::uint64_t usual =
      std::min(UploadSpaceLimits::reserve_bytes, size / UploadSpaceLimits::reserve_divisor);
  return {std::uint64_t{found.f_bavail} * found.f_frsize, options.reserve_bytes.value_or(usual)};
}

// Returns true if `a + b + c` is more than `most`, even if the sum overflows.
bool exceeds(std::uint64_t a, std::uint64_t b, std::uint64_t c, std::uint64_t most) noexcept {
  if (a > most) return true;
  most -= a;
  return b > most || c > most - b;
}

// Adds `bytes` if the result fits. Otherwise the counter is not changed even briefly, since that
// could make other claims fail.
template <class Fits>
bool add_if(std::atomic<std::uint64_t>& counter, std::uint64_t bytes, Fits fits) {
  std::uint64_t before = counter.load();
  do {
    if (!fits(before)) return false;
  } while (!counter.compare_exchange_weak(before, before + bytes));
  return true;
}

}  // namespace

UploadSpace::UploadSpace(int directory) : directory_(directory) {
  void* const memory =
      ::mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) base::out_of_memory();
  shared_ = std::construct_at(static_cast<Shared*>(memory));
}

UploadSpace::~UploadSpace() { ::munmap(shared_, sizeof(Shared)); }

UploadSpace::Verdict UploadSpace::claim(std::uint64_t bytes, std::uint64_t needed,
                                        const UploadOptions& options) {
  if (!claim_in_directory(bytes, needed, options)) {
    return Verdict::directory_full;
  }
  if (claim_on_disk(bytes, needed, options)) return Verdict::granted;
  shared_->claimed -= bytes;
  return Verdict::disk_full;
}

// Earlier claims count, so of two uploads that compete for the same bytes the first gets them.
bool UploadSpace::claim_in_directory(std::uint64_t bytes, std::uint64_t needed,
                                     const UploadOptions& options) {
  const std::uint64_t total = options.directory_bytes_max;
  const auto fits = [&](std::uint64_t claimed) {
    return total == 0 || !exceeds(shared_->stored, claimed, needed, total);
  };
  if (total != 0 && shared_->counted_ms < 0) count(options.folders);
  if (add_if(shared_->claimed, bytes, fits)) return true;
  if (base::monotonic_ms() - shared_->counted_ms < UploadSpaceLimits::recount_ms_min) return false;
  count(options.folders);
  return add_if(shared_->claimed, bytes, fits);
}

bool UploadSpace::claim_on_disk(std::uint64_t bytes, std::uint64_t needed,
                                const UploadOptions& options) {
  const Disk disk = look_at_disk(directory_, options);
  return add_if(shared_->unwritten, bytes, [&](std::uint64_t unwritten) {
    return !exceeds(disk.reserve, unwritten, needed, disk.free);
  });
}

// Allows using an eighth of the reserve, for what files need beside their content and for other
// programs.
bool UploadSpace::exhausted(const UploadOptions& options) const {
  const Disk disk = look_at_disk(directory_, options);
  return disk.free < disk.reserve - disk.reserve / 8;
}

void UploadSpace::wrote(std::uint64_t bytes) noexcept { shared_->unwritten -= bytes; }

void UploadSpace::give_back(std::uint64_t claimed, std::uint64_t on_disk) noexcept {
  shared_->unwritten -= claimed - on_disk;
  shared_->claimed -= claimed;
}

void UploadSpace::keep(std::uint64_t written, std::uint64_t replaced) noexcept {
  shared_->stored += written - replaced;
  ++shared_->changes;
}

// Returns the bytes of all files in `directory`, and of those in its folders down to `depth`. The
// error is an errno value.
Result<std::uint64_t, int> UploadSpace::sum_files(int directory, unsigned depth) {
  std::uint64_t sum = 0;
  const Result<void, int> walked = for_each_entry(directory, [&](const char* entry) {
    struct stat status{};
    const std::string_view name(entry);
    if (name == "." || name == "..") return true;
    if (name.starts_with(temporary_file_prefix) && !is_pending_bytes(name)) return true;
    if (::fstatat(directory, entry, &status, AT_SYMLINK_NOFOLLOW) != 0) return true;
    if (S_ISREG(status.st_mode)) sum += static_cast<std::uint64_t>(status.st_size);
    if (!S_ISDIR(status.st_mode) || depth == 0) return true;
    const base::Fd folder(
        ::openat(directory, entry, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    // A folder that was removed meanwhile, or that can't be read, has no bytes that count.
    if (folder.valid()) sum += sum_files(folder.get(), depth - 1).value_or(0);
    return true;
  });
  if (!walked) return std::unexpected(walked.error());
  return sum;
}

// Counts again if uploads were committed meanwhile.
void UploadSpace::count(bool folders) {
  constexpr int attempts_max = 3;
  for (int attempt = 0; attempt < attempts_max; ++attempt) {
    const std::uint64_t before = shared_->changes;
    const Result<std::uint64_t, int> sum =
        sum_files(directory_, folders ? UploadSpaceLimits::folder_depth_max : 0);
    if (!sum) break;  // EMFILE, ENOMEM, EIO: keeps the old sum
    shared_->stored = *sum;
    if (shared_->changes == before) break;
  }
  shared_->counted_ms = base::monotonic_ms();
}

// --- claims -----------------------------------------------------------------------------------

UploadSpace::Verdict UploadClaim::expect(std::uint64_t body_bytes, std::uint64_t form_bytes) {
  // At least this much of it is content. cover() claims the rest.
  expected_ = body_bytes - std::min(body_bytes, form_bytes);
  const std::uint64_t bytes = std::min(expected_, UploadSpaceLimits::ahead_bytes_max);
  const UploadSpace::Verdict verdict = space_.claim(bytes, expected_, options_);
  if (verdict == UploadSpace::Verdict::granted) claimed_ += bytes;
  return verdict;
}

UploadSpace::Verdict UploadClaim::cover(std::uint64_t bytes) {
  const std::uint64_t covered = claimed_ - written_;
  if (bytes > covered) {
    const std::uint64_t missing = bytes - covered;
    const std::uint64_t ahead = std::min(expected_ - std::min(expected_, claimed_ + missing),
                                         UploadSpaceLimits::ahead_bytes_max);
    if (ahead > 0 &&
        space_.claim(missing + ahead, missing + ahead, options_) == UploadSpace::Verdict::granted) {
      claimed_ += missing + ahead;
      return UploadSpace::Verdict::granted;
    }
    const UploadSpace::Verdict verdict = space_.claim(missing, missing, options_);
    if (verdict == UploadSpace::Verdict::granted) claimed_ += missing;
    return verdict;
  }
  unseen_ += bytes;
  if (unseen_ < UploadSpaceLimits::unseen_bytes_max) return UploadSpace::Verdict::granted;
  unseen_ = 0;
  return space_.exhausted(options_) ? UploadSpace::Verdict::disk_full
                                    : UploadSpace::Verdict::granted;
}

void UploadClaim::wrote(std::uint64_t bytes) noexcept {
  written_ += bytes;
  if (written_ > on_disk_) set_on_disk(written_);
}

void UploadClaim::allocated(std::uint64_t bytes) noexcept {
  set_on_disk(std::min(claimed_, std::max(on_disk_, written_ + bytes)));
}

void UploadClaim::set_on_disk(std::uint64_t bytes) noexcept {
  space_.wrote(bytes - on_disk_);
  on_disk_ = bytes;
}

void UploadClaim::keep(std::uint64_t replaced) noexcept {
  space_.keep(written_, replaced);
  space_.give_back(claimed_, on_disk_);
  claimed_ = written_ = on_disk_ = 0;
}

}  // namespace h2server::content
