#include "base/log.h"

#include <unistd.h>

#include <string>

namespace h2server::base {

namespace {
std::string_view prefix(Severity severity) {
  switch (severity) {
    case Severity::info:
      return "h2server: ";
    case Severity::warning:
      return "h2server: warning: ";
    case Severity::error:
      return "h2server: error: ";
  }
  return {};
}
}  // namespace

void log_line(Severity severity, std::string_view text) noexcept {
  std::string line(prefix(severity));
  line.append(text).push_back('\n');
  // A log that can't be written (a closed pipe, a full disk) must not stop the server.
  [[maybe_unused]] const ssize_t written = ::write(STDERR_FILENO, line.data(), line.size());
}

}  // namespace h2server::base
