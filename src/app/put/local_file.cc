#include "app/put/local_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

namespace h2server::app {

namespace {

std::string identity_of(const struct stat& status) {
  return fmt::format("{}:{}:{}:{}.{:09}", status.st_dev, status.st_ino, status.st_size,
                     status.st_mtim.tv_sec, status.st_mtim.tv_nsec);
}

}  // namespace

Result<LocalFile, int> LocalFile::open(const std::string& path) {
  LocalFile file;
  // Not to wait for the writer of a FIFO.
  file.file_ = base::Fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK));
  if (!file.file_.valid()) return std::unexpected(errno);
  struct stat status{};
  if (::fstat(file.fd(), &status) != 0) return std::unexpected(errno);
  if (!S_ISREG(status.st_mode)) return std::unexpected(S_ISDIR(status.st_mode) ? EISDIR : ENOTSUP);
  file.path_ = path;
  file.size_ = static_cast<std::uint64_t>(status.st_size);
  file.identity_ = identity_of(status);
  return file;
}

bool LocalFile::changed() const {
  struct stat status{};
  return ::fstat(fd(), &status) != 0 || identity_of(status) != identity_;
}

void LocalFile::see(std::string_view piece, std::uint64_t offset) {
  if (offset > seen_) read_until(offset);
  if (error_ != 0 || offset + piece.size() <= seen_) return;
  piece.remove_prefix(seen_ - offset);
  digest_.update(piece);
  seen_ += piece.size();
}

void LocalFile::read_until(std::uint64_t end) {
  std::string room(std::min<std::uint64_t>(end - seen_, 1 << 20), '\0');
  while (seen_ < end && error_ == 0) {
    const auto wanted = std::min<std::uint64_t>(room.size(), end - seen_);
    const ssize_t got = ::pread(fd(), room.data(), wanted, static_cast<off_t>(seen_));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) {
      error_ = got < 0 ? errno : -1;
      return;
    }
    digest_.update({room.data(), static_cast<std::size_t>(got)});
    seen_ += static_cast<std::uint64_t>(got);
  }
}

Result<std::string, int> LocalFile::sha256() {
  if (seen_ < size_) read_until(size_);
  if (error_ != 0) return std::unexpected(error_);
  return content::hex_digits(digest_.finish());
}

}  // namespace h2server::app
