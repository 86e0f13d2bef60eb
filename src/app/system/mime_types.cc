#include "app/system/mime_types.h"

#include <cerrno>
#include <cstring>

#include "base/log.h"
#include "file/whole_file.h"
#include "h2server/result.h"
#include "http/fields/media_type.h"

namespace h2server::app {

namespace {

// Debian's has 80 KiB.
constexpr std::size_t bytes_max = 1 << 20;

std::string error_text(int error) {
  if (error == ENOTSUP) return "it is not a regular file";
  return error == EFBIG ? "it has more than 1 MiB" : std::strerror(error);
}

}  // namespace

std::map<std::string, std::string> read_mime_types(const std::string& path) {
  const Result<std::string, int> text = file::read_whole_file(path, bytes_max);
  if (text) return http::parse_mime_types(*text);
  if (text.error() != ENOENT && text.error() != ENOTDIR) {
    base::log_warning("can't read media types from {}: {}", path, error_text(text.error()));
  }
  return {};
}

}  // namespace h2server::app
