#include "content/cache/disk_cache.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <iterator>
#include <limits>
#include <system_error>

#include "base/clock.h"
#include "base/log.h"
#include "content/cache/disk_counts.h"
#include "content/storage/directory_entries.h"
#include "content/storage/upload_space.h"

namespace h2server::content {

namespace {

constexpr std::size_t digits_of_key = 32;
constexpr std::size_t digits_of_version = 16;
constexpr std::string_view head_suffix = ".head";
// A head without its file is that of an object which is just being added, or left by a killed
// process.
constexpr std::int64_t head_alone_s_max = 60;
// More than the head of any object: 72 bytes for each of its blocks.
constexpr std::uint64_t head_bytes_max = 256 * 1024 * 1024;
constexpr std::int64_t log_pause_ms = 60'000;

std::string digest_digits(std::string_view text, std::size_t count) {
  Sha256 digest;
  digest.update(text);
  return hex_digits(digest.finish()).substr(0, count);
}

base::Fd open_file(int directory, const std::string& name) {
  return base::Fd(
      ::openat(directory, name.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
}

// The error is an errno value; 0: it has not the bytes that it should have.
Result<DiskHead, int> read_head(int directory, const std::string& name) {
  const base::Fd file = open_file(directory, name);
  if (!file.valid()) return std::unexpected(errno);
  const auto version = file::version_of(file.get());
  if (!version) return std::unexpected(errno);
  if (version->size > head_bytes_max) return std::unexpected(0);
  std::string text(static_cast<std::size_t>(version->size), '\0');
  if (!file::read_whole(file.get(), text, 0)) return std::unexpected(EIO);
  std::optional<DiskHead> head = parse_disk_head(text);
  if (!head) return std::unexpected(0);
  return *std::move(head);
}

// The space that may be used. A file system that does not report its size (EIO, ENOSYS, a size of
// 0) counts as not full until a write fails.
std::uint64_t usable_bytes(int directory, const std::optional<std::uint64_t>& reserve) {
  struct statvfs found{};
  if (::fstatvfs(directory, &found) != 0 || found.f_blocks == 0) {
    return std::numeric_limits<std::uint64_t>::max();
  }
  const std::uint64_t size = std::uint64_t{found.f_blocks} * found.f_frsize;
  const std::uint64_t usual =
      std::min(UploadSpaceLimits::reserve_bytes, size / UploadSpaceLimits::reserve_divisor);
  const std::uint64_t free = std::uint64_t{found.f_bavail} * found.f_frsize;
  return free - std::min(free, reserve.value_or(usual));
}

bool lacks_resources(int error) noexcept {
  return error == EMFILE || error == ENFILE || error == ENOMEM;
}

}  // namespace

Result<std::shared_ptr<DiskCache>, int> DiskCache::open(const std::string& path,
                                                        const DiskCacheLimits& limits) {
  std::error_code failure;
  // Objects may be protected by passwords, so others on this machine must not read them.
  if (std::filesystem::create_directories(path, failure)) {
    std::filesystem::permissions(path, std::filesystem::perms::owner_all, failure);
  }
  base::Fd directory(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!directory.valid()) return std::unexpected(errno);
  if (::faccessat(directory.get(), ".", W_OK | X_OK, AT_EACCESS) != 0) {
    return std::unexpected(errno);
  }
  const Result<void, int> swept = remove_abandoned(directory.get());
  if (!swept) return std::unexpected(swept.error());
  auto cache = std::make_shared<DiskCache>(path, std::move(directory), limits);
  cache->scan();
  return cache;
}

void DiskCache::on_drop(const void* owner, Dropped dropped) {
  const std::lock_guard lock(dropping_);
  if (dropped == nullptr) {
    on_drop_.erase(owner);
  } else {
    on_drop_[owner] = std::move(dropped);
  }
}

bool DiskCache::wants(const ObjectInfo& info) const noexcept {
  // Without a tag, nobody can find out whether the store still has that version.
  return info.size > 0 && info.size <= limits_.bytes_max / limits_.object_divisor &&
         !info.etag.empty() && info.modified_s >= 0;
}

std::string DiskCache::digits_of(const std::string& name) const {
  return digest_digits(name, digits_of_key);
}

// A store may give an object other fields and keep its tag, but then it has another date.
DiskNames DiskCache::names_of(const std::string& name, const ObjectInfo& info) const {
  const std::string version = info.etag + '\n' + std::to_string(info.modified_s);
  return {digits_of(name), digest_digits(version, digits_of_version)};
}

bool DiskCache::note_use(const std::string& name) {
  return index_.note_use(digits_of(name), base::unix_seconds());
}

// The time of the head, since that of the file with the bytes is a part of its version.
void DiskCache::touch(const std::string& name) {
  const std::optional<DiskIndex::Entry> entry = index_.find(digits_of(name));
  if (!entry) return;
  // Without the time, the next process takes the object for less recently used.
  static_cast<void>(
      ::utimensat(directory_.get(), entry->names.head().c_str(), nullptr, AT_SYMLINK_NOFOLLOW));
}

// --- reading ------------------------------------------------------------------------------------

std::optional<DiskCache::Opened> DiskCache::open_object(const std::string& name) {
  remove_rests();
  scan_if_due();
  const std::string digits = digits_of(name);
  const std::optional<DiskIndex::Entry> entry = index_.find(digits);
  if (!entry) return std::nullopt;
  Result<Opened, int> opened = open_files(*entry, name);
  if (opened) return *std::move(opened);
  if (lacks_resources(opened.error())) return std::nullopt;
  // ENOENT: another process has removed it.
  if (opened.error() != ENOENT) report_failure("can't read an object", opened.error());
  drop(index_.take(digits));
  return std::nullopt;
}

Result<DiskCache::Opened, int> DiskCache::open_files(const DiskIndex::Entry& entry,
                                                     const std::string& name) {
  Result<DiskHead, int> head = read_head(directory_.get(), entry.names.head());
  if (!head) return std::unexpected(head.error());
  base::Fd file = open_file(directory_.get(), entry.names.bytes());
  if (!file.valid()) return std::unexpected(errno);
  const auto version = file::version_of(file.get());
  if (!version) return std::unexpected(errno);
  const ObjectInfo& info = head->info;
  const bool fits = version->size == info.size && version->modified_s == info.modified_s &&
                    names_of(name, info) == entry.names && wants(info);
  if (!fits) return std::unexpected(0);
  std::shared_ptr<DiskChecks> checks = entry.checks;
  if (checks == nullptr || checks->version() != *version) {
    checks = std::make_shared<DiskChecks>(*version, head->digests.size());
  }
  index_.note_opened(entry.names, name, checks);
  Opened opened{.content = file::Content::map(*version, std::move(file)),
                .object = std::make_unique<DiskObject>(*std::move(head), std::move(checks))};
  if (opened.content == nullptr) return std::unexpected(ENOMEM);
  return opened;
}

// --- the directory ------------------------------------------------------------------------------

void DiskCache::scan_if_due() {
  if (base::monotonic_ms() >= next_scan_ms_.load()) scan();
}

void DiskCache::scan() {
  const std::unique_lock lock(scanning_, std::try_to_lock);
  if (!lock.owns_lock()) return;
  const std::int64_t began_ms = base::monotonic_ms();
  const std::uint64_t mark = index_.added();
  Result<DiskIndex::Found, int> found = read_directory();
  if (found) {
    drop(index_.merge(*std::move(found), mark));
  } else {
    report_failure("can't read the directory", found.error());
  }
  const std::int64_t now_ms = base::monotonic_ms();
  next_scan_ms_.store(now_ms + std::max(limits_.scan_ms, limits_.scan_share * (now_ms - began_ms)));
  count();
}

// Removes what is of no use: earlier versions, and halves of pairs.
Result<DiskIndex::Found, int> DiskCache::read_directory() const {
  DiskIndex::Found found;
  const std::int64_t now_s = base::unix_seconds();
  const Result<void, int> read = for_each_entry(directory_.get(), [&](const char* file) {
    std::string_view name(file);
    const bool is_head = name.ends_with(head_suffix);
    if (is_head) name.remove_suffix(head_suffix.size());
    const std::optional<DiskNames> names = DiskNames::parse(name);
    if (!names) return true;
    struct stat status{};
    if (is_head) {
      const bool alone =
          ::fstatat(directory_.get(), names->bytes().c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0 &&
          ::fstatat(directory_.get(), file, &status, AT_SYMLINK_NOFOLLOW) == 0;
      if (alone && now_s - status.st_mtim.tv_sec > head_alone_s_max) unlink(*names);
      return true;
    }
    std::optional<DiskIndex::Entry> entry = entry_of(*names);
    if (!entry) {
      unlink(*names);
      return true;
    }
    const auto [other, inserted] = found.try_emplace(names->digits, *entry);
    if (inserted) return true;
    if (other->second.used_s < entry->used_s) std::swap(other->second, *entry);
    unlink(entry->names);
    return true;
  });
  if (!read) return std::unexpected(read.error());
  return found;
}

std::optional<DiskIndex::Entry> DiskCache::entry_of(const DiskNames& names) const {
  struct stat bytes{};
  struct stat head{};
  const auto look = [this](const std::string& name, struct stat& status) {
    return ::fstatat(directory_.get(), name.c_str(), &status, AT_SYMLINK_NOFOLLOW) == 0 &&
           S_ISREG(status.st_mode);
  };
  if (!look(names.bytes(), bytes) || !look(names.head(), head)) return std::nullopt;
  return DiskIndex::Entry{.names = names,
                          .bytes = static_cast<std::uint64_t>(bytes.st_size),
                          .used_s = head.st_mtim.tv_sec,
                          .touched_s = head.st_mtim.tv_sec};
}

// The head goes last, so that a file with bytes has one unless it is to be removed, too.
void DiskCache::unlink(const DiskNames& names) const {
  // ENOENT: another process was faster. Others: the next look at the directory finds it.
  ::unlinkat(directory_.get(), names.bytes().c_str(), 0);
  ::unlinkat(directory_.get(), names.head().c_str(), 0);
}

void DiskCache::drop(const DiskIndex::Removed& removed) {
  for (const DiskIndex::Entry& entry : removed) {
    unlink(entry.names);
    const std::lock_guard lock(dropping_);
    if (entry.name.empty()) continue;  // nobody has opened it
    for (const auto& [owner, dropped] : on_drop_) dropped(entry.name);
  }
  if (!removed.empty()) count();
}

void DiskCache::remove(const std::string& name) { drop(index_.take(digits_of(name))); }

void DiskCache::remove_damaged(const std::string& name) {
  report_failure("can't read an object", 0);
  remove(name);
}

// --- writing ------------------------------------------------------------------------------------

bool DiskCache::claim(const DiskNames& names, std::uint64_t bytes) {
  const std::int64_t failed_ms = failed_ms_.load();
  if (failed_ms >= 0 && base::monotonic_ms() - failed_ms < limits_.pause_ms) return false;
  remove_rests();
  if (!index_.claim(names.digits, bytes, limits_.fills_max)) return false;
  scan_if_due();
  if (make_room()) return true;
  release(names);
  return false;
}

bool DiskCache::make_room() {
  const std::uint64_t usable = usable_bytes(directory_.get(), limits_.reserve_bytes);
  const std::uint64_t unwritten = index_.unwritten();
  const std::uint64_t missing = unwritten - std::min(unwritten, usable);
  const std::optional<DiskIndex::Removed> removed = index_.make_room(limits_.bytes_max, missing);
  if (!removed) {
    if (missing > 0) report_failure("can't write an object", ENOSPC);
    return false;
  }
  DiskCounts::of_process().evictions += removed->size();
  drop(*removed);
  return true;
}

void DiskCache::add(DiskIndex::Entry entry) {
  drop(index_.add(std::move(entry)));
  count();
}

void DiskCache::leave(Rest rest) {
  const std::lock_guard lock(resting_);
  rests_.push_back(std::move(rest));
}

void DiskCache::remove_rests() {
  std::vector<Rest> rests;
  {
    const std::lock_guard lock(resting_);
    rests.swap(rests_);
  }
  for (const Rest& rest : rests) {
    for (const std::string& file : rest.files) ::unlinkat(directory_.get(), file.c_str(), 0);
  }
}

void DiskCache::report_write_failure(int error) {
  failed_ms_.store(base::monotonic_ms());
  report_failure("can't write an object", error);
}

void DiskCache::report_failure(std::string_view what, int error) {
  ++DiskCounts::of_process().failures;
  const std::int64_t now_ms = base::monotonic_ms();
  std::int64_t logged_ms = logged_ms_.load();
  if (logged_ms >= 0 && now_ms - logged_ms < log_pause_ms) return;
  if (!logged_ms_.compare_exchange_strong(logged_ms, now_ms)) return;
  const std::string reason =
      error == 0 ? "its file is damaged" : std::generic_category().message(error);
  base::log_warning("{} in {}: {}; the store is asked instead", what, path_, reason);
}

void DiskCache::count() const {
  const DiskIndex::Size size = index_.size();
  DiskCounts::of_process().set(
      path_, {.objects = size.objects, .bytes = size.bytes, .bytes_max = limits_.bytes_max});
}

}  // namespace h2server::content
