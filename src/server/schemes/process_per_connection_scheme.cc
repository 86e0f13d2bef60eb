#include "server/schemes/process_per_connection_scheme.h"

#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <csignal>

#include "base/log.h"

namespace h2server::server {

ProcessPerConnectionScheme::ProcessPerConnectionScheme(const SharedContext& shared,
                                                       const SchemeOptions& options)
    : shared_(shared), options_(options) {}

ProcessPerConnectionScheme::~ProcessPerConnectionScheme() = default;

Result<void, std::string> ProcessPerConnectionScheme::start() {
  Listening sockets = listen(options_.listeners, stop_);
  if (!sockets) return std::unexpected(sockets.error());
  Result<ProcessCounters> counters = ProcessCounters::make(options_.connections_max);
  if (!counters) return std::unexpected(counters.error().message());
  counters_ = *std::move(counters);
  process_ = ::fork();
  if (process_ < 0) {  // EAGAIN, ENOMEM
    return std::unexpected("can't start a process: " + Error{errno, "fork"}.message());
  }
  if (process_ == 0) {
    stop_.close_asking_end();
    ListeningProcess(shared_, stop_, *std::move(sockets), counters_).run();
  }
  return {};
}

bool ProcessPerConnectionScheme::failed() { return process_ < 0 || wait(WNOHANG); }

// The accepting process kills children that do not end, and gets time for that.
bool ProcessPerConnectionScheme::join() {
  constexpr std::chrono::milliseconds pause{10};
  const auto ended = [this] { return failed(); };
  while (!shared_.give_up.wait_for(pause, ended)) {
    if (!shared_.give_up.is_past(2 * GiveUp::unwinding)) continue;
    ::kill(process_, SIGKILL);
    wait(0);
    break;
  }
  return true;
}

// Returns true if the accepting process has ended.
bool ProcessPerConnectionScheme::wait(int options) {
  int status = 0;
  pid_t ended;
  do {
    ended = ::waitpid(process_, &status, options);
  } while (ended < 0 && errno == EINTR);
  if (ended == 0) return false;
  // ECHILD: the program ignores SIGCHLD, so there is no status.
  if (ended > 0 && status != 0) {
    base::log_error("the process that accepts connections {}", describe_end(status));
  }
  process_ = -1;
  return true;
}

std::string ProcessPerConnectionScheme::report() const {
  WorkerTotals totals;
  for (const WorkerCounters& place : counters_.places()) totals += place;
  return fmt::format("children: {} running, {} accepted, {} streams, {} crashed\n",
                     counters_.children().get(), totals.accepted, totals.streams,
                     counters_.crashed().get());
}

}  // namespace h2server::server
