#include "base/log.h"

#include <sys/uio.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <ctime>

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
// Blocks SIGPIPE during its lifetime. A write to a closed pipe raises it in the writing thread.
// consume() removes it, so that the program's handling of SIGPIPE need not be known or changed.
class HeldPipeSignal {
 public:
  HeldPipeSignal() noexcept {
    sigset_t pending;
    sigemptyset(&pending);
    ::sigpending(&pending);
    // A signal that is pending already is blocked and not ours to consume.
    was_pending_ = ::sigismember(&pending, SIGPIPE) == 1;
    sigemptyset(&pipe_);
    sigaddset(&pipe_, SIGPIPE);
    ::pthread_sigmask(SIG_BLOCK, &pipe_, &before_);
  }
  HeldPipeSignal(const HeldPipeSignal&) = delete;
  HeldPipeSignal& operator=(const HeldPipeSignal&) = delete;
  ~HeldPipeSignal() { ::pthread_sigmask(SIG_SETMASK, &before_, nullptr); }

  // Consumes the signal that a write has just raised. An ignored signal is not pending.
  void consume() const noexcept {
    if (was_pending_) return;
    constexpr timespec at_once{};
    while (::sigtimedwait(&pipe_, nullptr, &at_once) < 0 && errno == EINTR) {
    }
  }

 private:
  sigset_t pipe_;
  sigset_t before_;
  bool was_pending_ = false;
};

}  // namespace

void log_line(Severity severity, std::string_view text) noexcept {
  const std::string_view begin = prefix(severity);
  const std::string_view end = "\n";
  const auto piece = [](std::string_view part) {
    return iovec{const_cast<char*>(part.data()), part.size()};
  };
  const std::array<iovec, 3> line{piece(begin), piece(text), piece(end)};
  const HeldPipeSignal held;
  // A failed write (a closed pipe, a full disk) must not stop the server.
  const ssize_t written = ::writev(STDERR_FILENO, line.data(), line.size());
  if (written < 0 && errno == EPIPE) held.consume();
}

}  // namespace h2server::base
