#include "content/upload_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/fs.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdio>

#include "content/directory_entries.h"
#include "content/file_name.h"

namespace h2server::content {

namespace {

std::atomic<std::uint64_t> requests{0};

base::Fd create_exclusively(int directory, const std::string& name) noexcept {
  return base::Fd(::openat(directory, name.c_str(),
                           O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644));
}

bool has_name(int file) noexcept {
  struct stat status{};
  return ::fstat(file, &status) == 0 && status.st_nlink > 0;
}

// Locks a temporary file that was just created. Returns false if another server took it for
// abandoned before it was locked.
bool lock_new_file(const TemporaryNames::Created& created) noexcept {
  // Other errors: this file system has no locks, so no server can take the file for abandoned.
  if (::flock(created.file.get(), LOCK_EX | LOCK_NB) != 0) return errno != EWOULDBLOCK;
  return has_name(created.file.get());
}

// Returns true if the file does not exist or is now locked. `lock` holds the lock.
bool lock_abandoned(int directory, const std::string& name, base::Fd& lock) noexcept {
  lock =
      base::Fd(::openat(directory, name.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  if (!lock.valid()) return errno == ENOENT;  // EACCES, ELOOP, EMFILE...: unknown
  return ::flock(lock.get(), LOCK_EX | LOCK_NB) == 0;
}

}  // namespace

// --- temporary names --------------------------------------------------------------------------

std::string TemporaryNames::next() { return fmt::format("{}_{}", request_, count_++); }

Result<TemporaryNames::Created, int> TemporaryNames::create() {
  if (!lock_.valid()) return create_first();
  for (;;) {
    Created created;
    created.name = next();
    created.file = create_exclusively(directory_, created.name);
    if (created.file.valid()) return created;
    if (errno != EEXIST && errno != EINTR) return std::unexpected(errno);
  }
}

// Process ids are reused, and containers can have the same ones. O_EXCL decides who was first.
Result<TemporaryNames::Created, int> TemporaryNames::create_first() {
  for (;;) {
    count_ = 0;
    request_ = fmt::format("{}{}_{}", temporary_file_prefix, ::getpid(), requests.fetch_add(1));
    Created created;
    created.name = next();
    created.file = create_exclusively(directory_, created.name);
    if (!created.file.valid()) {
      if (errno != EEXIST && errno != EINTR) return std::unexpected(errno);
      continue;
    }
    if (!lock_new_file(created)) continue;
    // The lock belongs to the open file description, so it outlives the descriptor written to.
    lock_ = base::Fd(::fcntl(created.file.get(), F_DUPFD_CLOEXEC, 0));
    if (lock_.valid()) return created;
    const int error = errno;
    ::unlinkat(directory_, created.name.c_str(), 0);
    return std::unexpected(error);
  }
}

Result<void, int> remove_abandoned(int directory) {
  return for_each_entry(directory, [directory](const char* entry) {
    const std::string name(entry);
    if (!name.starts_with(temporary_file_prefix)) return true;
    base::Fd lock;  // held until the file is removed; see lock_new_file()
    const std::string first = name.substr(0, name.rfind('_')) + "_0";
    if (lock_abandoned(directory, first, lock)) ::unlinkat(directory, entry, 0);
    return true;
  });
}

// --- files ------------------------------------------------------------------------------------

Result<UploadFile, int> UploadFile::open(TemporaryNames& names, std::string name) {
  Result<TemporaryNames::Created, int> created = names.create();
  if (!created) return std::unexpected(created.error());
  return UploadFile(names, std::move(name), *std::move(created));
}

UploadFile::UploadFile(TemporaryNames& names, std::string name, TemporaryNames::Created created)
    : names_(names),
      name_(std::move(name)),
      temporary_name_(std::move(created.name)),
      file_(std::move(created.file)) {}

UploadFile::UploadFile(UploadFile&& other) noexcept
    : names_(other.names_),
      name_(std::move(other.name_)),
      temporary_name_(std::exchange(other.temporary_name_, {})),
      file_(std::move(other.file_)),
      size_(other.size_),
      replaced_size_(other.replaced_size_),
      final_(other.final_) {}

UploadFile::~UploadFile() {
  if (!temporary_name_.empty()) ::unlinkat(names_.directory(), temporary_name_.c_str(), 0);
}

Result<void, int> UploadFile::write(std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t count = ::write(file_.get(), bytes.data(), bytes.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return std::unexpected(errno);  // ENOSPC, EDQUOT, EFBIG, EIO
    bytes.remove_prefix(static_cast<std::size_t>(count));
    size_ += static_cast<std::uint64_t>(count);
  }
  return {};
}

Result<void, int> UploadFile::close() noexcept {
  if (::close(file_.release()) != 0 && errno != EINTR) return std::unexpected(errno);
  return {};
}

// Gives the file that is about to be replaced a second name.
Result<std::string, int> UploadFile::keep_replaced() {
  const int directory = names_.directory();
  for (;;) {
    std::string second = names_.next();
    if (::linkat(directory, name_.c_str(), directory, second.c_str(), 0) == 0) {
      struct stat status{};
      const bool known = ::fstatat(directory, second.c_str(), &status, AT_SYMLINK_NOFOLLOW) == 0;
      if (known && S_ISREG(status.st_mode)) {
        replaced_size_ = static_cast<std::uint64_t>(status.st_size);
      }
      return second;
    }
    if (errno != EEXIST) return std::unexpected(errno);
  }
}

Result<void, int> UploadFile::commit(bool overwrite) {
  const int directory = names_.directory();
  const char* const from = temporary_name_.c_str();
  const char* const to = name_.c_str();
  if (overwrite) {
    // Kept for revoke(). If the existing file can't be given a second name, revoke() does nothing.
    Result<std::string, int> kept = keep_replaced();
    final_ = !kept && kept.error() != ENOENT;
    std::string replaced = kept.value_or("");
    if (::renameat(directory, from, directory, to) != 0) {
      const int error = errno;
      if (!replaced.empty()) ::unlinkat(directory, replaced.c_str(), 0);
      return std::unexpected(error);
    }
    temporary_name_ = std::move(replaced);
    return {};
  }
  if (::syscall(SYS_renameat2, directory, from, directory, to, RENAME_NOREPLACE) != 0) {
    // Some file systems lack RENAME_NOREPLACE; link() refuses an existing name on all of them.
    if (errno != EINVAL && errno != ENOSYS) return std::unexpected(errno);
    if (::linkat(directory, from, directory, to, 0) != 0) return std::unexpected(errno);
    ::unlinkat(directory, from, 0);
  }
  temporary_name_.clear();
  return {};
}

void UploadFile::revoke() noexcept {
  const int directory = names_.directory();
  if (final_) return;  // the new file is better than none
  if (temporary_name_.empty()) {
    ::unlinkat(directory, name_.c_str(), 0);
  } else if (::renameat(directory, temporary_name_.c_str(), directory, name_.c_str()) == 0) {
    temporary_name_.clear();
  }
}

}  // namespace h2server::content
