#include "server/stop_signal.h"

#include <sys/socket.h>

#include <cerrno>

namespace h2server::server {

Result<StopSignal> StopSignal::open() {
  StopSignal made;
  for (std::size_t i = 0; i < made.asking_ends_.size(); ++i) {
    std::array<int, 2> ends{};
    if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) != 0) {
      return std::unexpected(Error{errno, "socketpair"});
    }
    made.asking_ends_[i] = base::Fd(ends[0]);
    made.listening_ends_[i] = base::Fd(ends[1]);
  }
  return made;
}

void StopSignal::ask() noexcept {
  // Shut down, not closed: a process forked by other code may have a copy.
  if (asked_ < asking_ends_.size()) ::shutdown(asking_ends_[asked_++].get(), SHUT_WR);
}

}  // namespace h2server::server
