#include "app/mime_types.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "base/fd.h"
#include "base/log.h"
#include "h2server/result.h"
#include "http/media_type.h"

namespace h2server::app {

namespace {

// Debian's has 80 KiB.
constexpr std::size_t bytes_max = 1 << 20;

std::string reason_of(int error) { return std::strerror(error); }

// The error is the reason; empty if there is no such file.
Result<std::string, std::string> read(const std::string& path) {
  // Not blocked by a FIFO without a writer, which is refused.
  const base::Fd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK));
  if (!file.valid()) {
    const bool missing = errno == ENOENT || errno == ENOTDIR;
    return std::unexpected(missing ? std::string() : reason_of(errno));
  }
  struct stat status{};
  if (::fstat(file.get(), &status) != 0) return std::unexpected(reason_of(errno));
  if (!S_ISREG(status.st_mode)) return std::unexpected("it is not a regular file");
  // One byte more than allowed: the size may change while it is read.
  std::string text(bytes_max + 1, '\0');
  std::size_t size = 0;
  while (size < text.size()) {
    const ssize_t got = ::read(file.get(), text.data() + size, text.size() - size);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return std::unexpected(reason_of(errno));
    if (got == 0) break;
    size += static_cast<std::size_t>(got);
  }
  if (size > bytes_max) return std::unexpected("it has more than 1 MiB");
  text.resize(size);
  return text;
}

}  // namespace

std::map<std::string, std::string> read_mime_types(const std::string& file) {
  const Result<std::string, std::string> text = read(file);
  if (text) return http::parse_mime_types(*text);
  if (!text.error().empty()) {
    base::log_warning("can't read media types from {}: {}", file, text.error());
  }
  return {};
}

}  // namespace h2server::app
