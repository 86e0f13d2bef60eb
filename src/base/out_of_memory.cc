#include "base/out_of_memory.h"

#include <unistd.h>

#include <csignal>
#include <string_view>

namespace h2server::base {

void out_of_memory() noexcept {
  constexpr std::string_view line = "h2server: out of memory\n";
  // A closed pipe would end the process by SIGPIPE, before it has its status.
  sigset_t pipe;
  sigemptyset(&pipe);
  sigaddset(&pipe, SIGPIPE);
  ::pthread_sigmask(SIG_BLOCK, &pipe, nullptr);
  // Nobody can be told that this failed.
  [[maybe_unused]] const ssize_t written = ::write(STDERR_FILENO, line.data(), line.size());
  ::_exit(1);
}

}  // namespace h2server::base
