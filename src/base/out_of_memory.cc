#include "base/out_of_memory.h"

#include <unistd.h>

#include <csignal>
#include <string_view>

namespace h2server::base {

void out_of_memory() noexcept {
  constexpr std::string_view line = "h2server: out of memory\n";
  // SIGPIPE from a closed pipe would end the process before it exits with status 1.
  sigset_t pipe;
  sigemptyset(&pipe);
  sigaddset(&pipe, SIGPIPE);
  ::pthread_sigmask(SIG_BLOCK, &pipe, nullptr);
  // A failure of this write cannot be reported.
  [[maybe_unused]] const ssize_t written = ::write(STDERR_FILENO, line.data(), line.size());
  ::_exit(1);
}

}  // namespace h2server::base
