#include "server/shortage.h"

#include <cerrno>

#include "base/log.h"

namespace h2server::server {

namespace {

constexpr std::int64_t gap_ms = 10'000;  // between two log lines

}  // namespace

void ResourceExhaustion::report(const Error& error, std::int64_t now_ms) {
  if (now_ms < report_from_ms_) return;
  // EAGAIN comes from fork and pthread_create only.
  base::log_warning(
      "{}: new connections wait; raise the limit of {}", error.message(),
      error.code == EAGAIN ? "processes and threads (ulimit -u)" : "open files (ulimit -n)");
  report_from_ms_ = now_ms + gap_ms;
}

}  // namespace h2server::server
