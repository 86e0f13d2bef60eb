#include "content/storage/upload_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <set>
#include <utility>

#include "content/names/file_name.h"
#include "content/storage/directory_entries.h"
#include "content/storage/pending_files.h"

namespace h2server::content {

namespace {

std::atomic<std::uint64_t> requests{0};

base::Fd create_exclusively(int directory, const std::string& name, unsigned mode) noexcept {
  return base::Fd(::openat(directory, name.c_str(),
                           O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode));
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
  if (request_.empty()) return create_first();
  for (;;) {
    Created created;
    created.name = next();
    created.file = create_exclusively(directory_, created.name, mode_);
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
    created.file = create_exclusively(directory_, created.name, mode_);
    if (!created.file.valid()) {
      if (errno == EEXIST || errno == EINTR) continue;
      const int error = errno;
      request_.clear();
      return std::unexpected(error);
    }
    if (!lock_new_file(created)) continue;
    if (place_ == Lock::in_first_file) return created;
    // The lock belongs to the open file description, so it outlives the descriptor written to.
    lock_ = base::Fd(::fcntl(created.file.get(), F_DUPFD_CLOEXEC, 0));
    if (lock_.valid()) return created;
    const int error = errno;
    ::unlinkat(directory_, created.name.c_str(), 0);
    request_.clear();
    return std::unexpected(error);
  }
}

Result<void, int> TemporaryNames::close(base::Fd file, const std::string& name) {
  const bool has_lock = place_ == Lock::in_first_file && name == request_ + "_0";
  if (has_lock) lock_ = base::Fd(::fcntl(file.get(), F_DUPFD_CLOEXEC, 0));
  if (has_lock && !lock_.valid()) {  // EMFILE: it stays open, and is asked for errors otherwise
    lock_ = std::move(file);
    return sync_file(lock_.get());
  }
  if (::close(file.release()) != 0 && errno != EINTR) return std::unexpected(errno);
  return {};
}

Result<void, int> remove_abandoned(int directory) {
  return for_each_entry(directory, [directory](const char* entry) {
    const std::string name(entry);
    if (!name.starts_with(temporary_file_prefix)) return true;
    if (name.starts_with(pending_upload_prefix)) return true;  // PendingUploads sweeps them
    base::Fd lock;  // held until the file is removed; see lock_new_file()
    const std::string first = name.substr(0, name.rfind('_')) + "_0";
    if (lock_abandoned(directory, first, lock)) ::unlinkat(directory, entry, 0);
    return true;
  });
}

// --- files ------------------------------------------------------------------------------------

Result<UploadFile, int> UploadFile::open(TemporaryNames& names, std::string path,
                                         const UploadFilePlan& plan) {
  Result<TemporaryNames::Created, int> created = names.create();
  if (!created) return std::unexpected(created.error());
  return UploadFile(names, std::move(path), plan, *std::move(created));
}

UploadFile::UploadFile(TemporaryNames& names, std::string name, const UploadFilePlan& plan,
                       TemporaryNames::Created created)
    : names_(names),
      name_(std::move(name)),
      temporary_name_(std::move(created.name)),
      file_(std::move(created.file)),
      plan_(plan) {
  if (plan_.sha256) digest_.emplace();
}

UploadFile::UploadFile(UploadFile&& other) noexcept
    : names_(other.names_),
      name_(std::move(other.name_)),
      temporary_name_(std::exchange(other.temporary_name_, {})),
      file_(std::move(other.file_)),
      plan_(other.plan_),
      digest_(std::move(other.digest_)),
      sha256_(std::move(other.sha256_)),
      etag_(std::move(other.etag_)),
      made_(std::move(other.made_)),
      size_(other.size_),
      allocated_(other.allocated_),
      behind_(other.behind_),
      replaced_size_(other.replaced_size_),
      replaced_(other.replaced_),
      final_(other.final_) {}

UploadFile::~UploadFile() {
  if (!temporary_name_.empty()) ::unlinkat(names_.directory(), temporary_name_.c_str(), 0);
}

// FALLOC_FL_KEEP_SIZE: the size is still what was written. Never more than the known size, since a
// file keeps what was allocated beyond its end.
Result<std::uint64_t, int> UploadFile::allocate(std::uint64_t bytes_max) {
  if (!plan_.size || size_ < allocated_ || *plan_.size <= size_) return 0;
  const std::uint64_t bytes = std::min({*plan_.size - size_, bytes_max, allocated_bytes_max});
  if (bytes == 0) return 0;
  while (::fallocate(file_.get(), FALLOC_FL_KEEP_SIZE, static_cast<off_t>(size_),
                     static_cast<off_t>(bytes)) != 0) {
    if (errno == EINTR) continue;
    if (errno == ENOSPC || errno == EDQUOT || errno == EFBIG) return std::unexpected(errno);
    plan_.size.reset();  // EOPNOTSUPP, ENOSYS: this file system can't; EIO: writing will show it
    return 0;
  }
  allocated_ = size_ + bytes;
  return bytes;
}

Result<void, int> UploadFile::write(std::string_view bytes) {
  if (digest_) digest_->update(bytes);
  while (!bytes.empty()) {
    const ssize_t count = ::write(file_.get(), bytes.data(), bytes.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return std::unexpected(errno);  // ENOSPC, EDQUOT, EFBIG, EIO
    bytes.remove_prefix(static_cast<std::size_t>(count));
    size_ += static_cast<std::uint64_t>(count);
  }
  if (plan_.durability != Durability::none && size_ - behind_ >= written_behind_bytes) {
    // Only so that close() has less to wait for; it reports the errors.
    ::sync_file_range(file_.get(), static_cast<off_t>(behind_), static_cast<off_t>(size_ - behind_),
                      SYNC_FILE_RANGE_WRITE);
    behind_ = size_;
  }
  return {};
}

Result<void, int> UploadFile::close() {
  if (digest_) sha256_ = hex_digits(digest_->finish());
  digest_.reset();
  if (plan_.durability != Durability::none) {
    const Result<void, int> synced = sync_file(file_.get());
    if (!synced) return synced;
  }
  return names_.close(std::move(file_), temporary_name_);
}

// Gives the file that is about to be replaced a second name.
Result<std::string, int> UploadFile::keep_replaced(const UploadParent& parent) {
  const int directory = names_.directory();
  for (;;) {
    std::string second = names_.next();
    if (::linkat(parent.directory.get(), parent.name.c_str(), directory, second.c_str(), 0) == 0) {
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

Result<void, int> UploadFile::commit(Existing existing) {
  // Another upload may remove the folder that it made, since it fails, before this one uses it.
  constexpr int attempts_max = 3;
  for (int attempt = 1;; ++attempt) {
    Result<UploadParent, int> parent = open_upload_parent(names_.directory(), name_, true);
    if (!parent) return std::unexpected(parent.error());
    const Result<void, int> done = commit_in(*parent, existing);
    if (done) {
      made_ = std::move(parent->made);
      return done;
    }
    remove_made_folders(names_.directory(), parent->made);
    if (done.error() != ENOENT || attempt == attempts_max) return done;
  }
}

Result<void, int> UploadFile::commit_in(const UploadParent& parent, Existing existing) {
  const int directory = names_.directory();
  std::string replaced;
  if (existing == Existing::replace) {
    // Kept for revoke(). If the existing file can't be given a second name, revoke() does nothing.
    Result<std::string, int> kept = keep_replaced(parent);
    final_ = !kept && kept.error() != ENOENT;
    replaced_ = kept || final_;
    replaced = kept.value_or("");
  }
  const Result<void, int> renamed =
      rename_file(directory, temporary_name_, parent.directory.get(), parent.name, existing);
  if (!renamed) {
    if (!replaced.empty()) ::unlinkat(directory, replaced.c_str(), 0);
    return renamed;
  }
  temporary_name_ = std::move(replaced);
  etag_ = etag_of(parent.directory.get(), parent.name);
  return {};
}

void UploadFile::revoke() noexcept {
  if (final_) return;  // the new file is better than none
  const int directory = names_.directory();
  const Result<UploadParent, int> parent = open_upload_parent(directory, name_, false);
  if (!parent) return;  // EMFILE, ENFILE, EACCES; ENOENT: someone removed it with its folder
  const int folder = parent->directory.get();
  const char* const name = parent->name.c_str();
  if (temporary_name_.empty()) {
    ::unlinkat(folder, name, 0);
    remove_made_folders(directory, made_);
  } else if (::renameat(directory, temporary_name_.c_str(), folder, name) == 0) {
    temporary_name_.clear();
  }
}

StoredFile UploadFile::stored() const {
  return {.name = name_, .size = size_, .sha256 = sha256_, .etag = etag_, .replaced = replaced_};
}

Result<void, int> sync_folders(int directory, std::span<const UploadFile> files) {
  std::set<std::string> folders;  // each one once
  const auto note_folder_of = [&folders](std::string_view path) {
    const std::size_t slash = path.rfind('/');
    folders.emplace(slash == std::string_view::npos ? "" : path.substr(0, slash + 1));
  };
  for (const UploadFile& file : files) {
    note_folder_of(file.name());
    for (const std::string& made : file.made()) note_folder_of(made);
  }
  for (const std::string& folder : folders) {
    const Result<UploadParent, int> opened = open_upload_parent(directory, folder, false);
    if (!opened) return std::unexpected(opened.error());
    const Result<void, int> synced = sync_directory(opened->directory.get());
    if (!synced) return synced;
  }
  return {};
}

}  // namespace h2server::content
