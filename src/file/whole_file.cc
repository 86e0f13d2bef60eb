#include "file/whole_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "base/fd.h"

namespace h2server::file {

Result<std::string, int> read_whole_file(const std::string& path, std::size_t bytes_max) {
  const base::Fd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK));
  if (!file.valid()) return std::unexpected(errno);
  struct stat status{};
  if (::fstat(file.get(), &status) != 0) return std::unexpected(errno);
  if (!S_ISREG(status.st_mode)) return std::unexpected(ENOTSUP);
  std::string text;
  // The size may change while it is read.
  std::string piece(64 << 10, '\0');
  for (;;) {
    const ssize_t size = ::read(file.get(), piece.data(), piece.size());
    if (size < 0 && errno == EINTR) continue;
    if (size < 0) return std::unexpected(errno);
    if (size == 0) return text;
    text.append(piece, 0, static_cast<std::size_t>(size));
    if (text.size() > bytes_max) return std::unexpected(EFBIG);
  }
}

Result<void, int> write_all(int file, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t count = ::write(file, bytes.data(), bytes.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return std::unexpected(errno);
    bytes.remove_prefix(static_cast<std::size_t>(count));
  }
  return {};
}

}  // namespace h2server::file
