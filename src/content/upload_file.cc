#include "content/upload_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/fs.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>

#include "content/file_name.h"

namespace h2server::content {

namespace {

// Unique on this machine as long as the thread lives; O_EXCL sees what an earlier process left.
std::string next_temporary_name() {
  thread_local std::uint64_t count = 0;
  return fmt::format("{}{}_{}", temporary_file_prefix, ::gettid(), count++);
}

}  // namespace

Result<UploadFile, int> UploadFile::open(int directory, std::string name) {
  for (;;) {
    std::string temporary = next_temporary_name();
    base::Fd file(::openat(directory, temporary.c_str(),
                           O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644));
    if (file.valid()) {
      return UploadFile(directory, std::move(name), std::move(temporary), std::move(file));
    }
    if (errno != EEXIST && errno != EINTR) return std::unexpected(errno);
  }
}

UploadFile::UploadFile(int directory, std::string name, std::string temporary_name, base::Fd file)
    : directory_(directory),
      name_(std::move(name)),
      temporary_name_(std::move(temporary_name)),
      file_(std::move(file)) {}

UploadFile::UploadFile(UploadFile&& other) noexcept
    : directory_(other.directory_),
      name_(std::move(other.name_)),
      temporary_name_(std::exchange(other.temporary_name_, {})),
      file_(std::move(other.file_)),
      size_(other.size_),
      final_(other.final_) {}

UploadFile::~UploadFile() {
  if (!temporary_name_.empty()) ::unlinkat(directory_, temporary_name_.c_str(), 0);
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

// A second name for the file that is about to lose its own.
Result<std::string, int> UploadFile::keep_replaced() const {
  for (;;) {
    std::string second = next_temporary_name();
    if (::linkat(directory_, name_.c_str(), directory_, second.c_str(), 0) == 0) return second;
    if (errno != EEXIST) return std::unexpected(errno);
  }
}

Result<void, int> UploadFile::commit(bool overwrite) {
  const char* const from = temporary_name_.c_str();
  const char* const to = name_.c_str();
  if (overwrite) {
    // Kept for revoke(). Where a file can't have two names, or not by our hand, there is no way
    // back.
    Result<std::string, int> kept = keep_replaced();
    final_ = !kept && kept.error() != ENOENT;
    std::string replaced = kept.value_or("");
    if (::renameat(directory_, from, directory_, to) != 0) {
      const int error = errno;
      if (!replaced.empty()) ::unlinkat(directory_, replaced.c_str(), 0);
      return std::unexpected(error);
    }
    temporary_name_ = std::move(replaced);
    return {};
  }
  if (::syscall(SYS_renameat2, directory_, from, directory_, to, RENAME_NOREPLACE) != 0) {
    // Some file systems know no RENAME_NOREPLACE; a link refuses an existing name everywhere.
    if (errno != EINVAL && errno != ENOSYS) return std::unexpected(errno);
    if (::linkat(directory_, from, directory_, to, 0) != 0) return std::unexpected(errno);
    ::unlinkat(directory_, from, 0);
  }
  temporary_name_.clear();
  return {};
}

void UploadFile::revoke() noexcept {
  if (final_) return;  // the new file is better than none
  if (temporary_name_.empty()) {
    ::unlinkat(directory_, name_.c_str(), 0);
  } else if (::renameat(directory_, temporary_name_.c_str(), directory_, name_.c_str()) == 0) {
    temporary_name_.clear();
  }
}

}  // namespace h2server::content
