#include "server/schemes/listening_process.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "base/assert.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/memory/memory_budget.h"
#include "file/cache.h"
#include "server/schemes/blocking_worker.h"

namespace h2server::server {

namespace {

constexpr std::uint64_t child_memory_least = 4 * 1024 * 1024;  // an upload has 1 MiB on the way

}  // namespace

Result<ProcessCounters> ProcessCounters::make(std::size_t connections_max) {
  auto places = base::SharedArray<WorkerCounters>::make(connections_max);
  if (!places) return std::unexpected(places.error());
  auto totals = base::SharedArray<base::Counter>::make(2);
  if (!totals) return std::unexpected(totals.error());
  ProcessCounters made;
  made.places_ = *std::move(places);
  made.totals_ = *std::move(totals);
  return made;
}

ListeningProcess::ListeningProcess(const SharedContext& shared, const StopSignal& stop,
                                   std::vector<ListeningSocket> listeners,
                                   const ProcessCounters& counters)
    : shared_(shared),
      stop_(stop),
      counters_(counters),
      listeners_(std::move(listeners), stop.interrupts().drain) {
  for (std::size_t i = 0; i < counters.places().size(); ++i) free_places_.push_back(i);
}

void ListeningProcess::run() noexcept {
  take_signals();
  accept();
  listeners_.close();
  wait_for_children();
  ::_exit(0);  // skips the main process's exit handlers
}

void ListeningProcess::take_signals() {
  for (const int signal : {SIGINT, SIGTERM, SIGUSR1}) ::signal(signal, SIG_IGN);
  // SIGCHLD is blocked except in waits, which it ends. So none is missed between reap() and a wait.
  sigset_t child;
  sigemptyset(&child);
  sigaddset(&child, SIGCHLD);
  ::sigprocmask(SIG_BLOCK, &child, &waiting_mask_);
  sigdelset(&waiting_mask_, SIGCHLD);
  ::signal(SIGCHLD, [](int) {});
}

void ListeningProcess::accept() {
  using Ending = ListenerSet::Ending;
  for (;;) {
    reap();
    if (free_places_.empty()) {
      if (listeners_.pause(-1, &waiting_mask_) == Ending::stopped) return;
      continue;
    }
    auto connection = listeners_.accept(&waiting_mask_);
    if (!connection && connection.error() == Ending::stopped) return;
    if (!connection) continue;
    reap();  // so that a connection that has just ended does not count
    auto ticket = shared_.admission.admit(connection->socket.get());
    if (!ticket) {
      shared_.admission.report(ticket.error(), base::monotonic_ms());
      continue;
    }
    while (!try_fork(*connection, *ticket)) {
      if (listeners_.pause(ResourceExhaustion::pause_ms, &waiting_mask_) == Ending::stopped) return;
      reap();
    }
  }
}

bool ListeningProcess::try_fork(Accepted& connection, Admission::Ticket& ticket) {
  const std::size_t place = free_places_.back();
  const pid_t child = ::fork();
  if (child < 0) {  // EAGAIN, ENOMEM
    exhaustion_.report({errno, "fork"}, base::monotonic_ms());
    return false;
  }
  if (child == 0) serve(std::move(connection), place);
  connection.socket.close();
  free_places_.pop_back();
  children_.emplace(child, Child{place, std::move(ticket)});
  counters_.children().set(children_.size());
  return true;
}

// Runs in the child. Each process counts for itself, so it gets a part of what all may hold: all if
// it is the first, a half if it is the second, a third if it is the third. It keeps that part when
// others have ended. Together, 500 have seven times the limit at most, or, if that is more,
// child_memory_least each, which is 2 GiB.
void ListeningProcess::take_share(std::size_t processes) noexcept {
  base::MemoryBudget& memory = base::MemoryBudget::of_process();
  memory.set_limit(std::max(memory.limit() / processes, child_memory_least));
  shared_.windows.reset(shared_.windows.left() / static_cast<std::int64_t>(processes));
  file::Cache::of_process().limit_snapshots(0);  // of no use to others
}

// Runs in the child.
void ListeningProcess::serve(Accepted connection, std::size_t place) noexcept {
  listeners_.close();
  take_share(children_.size() + 1);
  ::signal(SIGCHLD, SIG_DFL);
  ::sigprocmask(SIG_SETMASK, &waiting_mask_, nullptr);
  BlockingWorker worker(shared_, stop_, counters_.places()[place]);
  worker.serve(std::move(connection), Admission::Ticket());
  ::_exit(0);
}

// The children get the stop signal themselves. Kills those that have not ended after their
// connections should have been cancelled.
void ListeningProcess::wait_for_children() {
  const auto unwinding_ms = static_cast<std::int64_t>(GiveUp::unwinding.count());
  std::int64_t due_ms = base::monotonic_ms() + shared_.drain_ms_max + unwinding_ms;
  pollfd cancel{.fd = stop_.interrupts().cancel, .events = POLLIN, .revents = 0};
  for (reap(); !children_.empty(); reap()) {
    const std::int64_t left_ms = due_ms - base::monotonic_ms();
    if (left_ms <= 0) break;
    const timespec time{.tv_sec = left_ms / 1000, .tv_nsec = left_ms % 1000 * 1'000'000};
    // EINTR: a child has ended.
    const int count = ::ppoll(&cancel, 1, &time, &waiting_mask_);
    if (count <= 0) continue;
    cancel.fd = -1;  // it stays readable
    due_ms = std::min(due_ms, base::monotonic_ms() + unwinding_ms);
  }
  for (const auto& [child, state] : children_) {
    base::log_error("the process of a connection, {}, was left behind and is killed; {}", child,
                    describe_last_route(counters_.places()[state.place]));
    ::kill(child, SIGKILL);
  }
  while (reap_one(0)) {
  }
}

void ListeningProcess::reap() {
  while (reap_one(WNOHANG)) {
  }
}

// Returns false if no child has ended or there is none.
bool ListeningProcess::reap_one(int options) {
  int status = 0;
  pid_t child;
  do {
    child = ::waitpid(-1, &status, options);
  } while (child < 0 && errno == EINTR);
  if (child <= 0) return false;  // ECHILD
  const auto ended = children_.find(child);
  ASSERT(ended != children_.end());  // only try_fork() forks here
  if (status != 0) {
    base::log_error("the process of a connection, {}, {}", child, describe_end(status));
    counters_.crashed().up();
    counters_.places()[ended->second.place].connections.set(0);
    counters_.places()[ended->second.place].streams.set(0);
  }
  free_places_.push_back(ended->second.place);
  children_.erase(ended);
  counters_.children().set(children_.size());
  return true;
}

std::string describe_end(int status) {
  if (WIFSIGNALED(status)) {
    const int number = WTERMSIG(status);
    return fmt::format("was ended by signal {} ({})", number, ::strsignal(number));
  }
  return fmt::format("ended with status {}", WEXITSTATUS(status));
}

}  // namespace h2server::server
