// ListeningProcess: the process that accepts connections and forks a child to serve each of them.
//
// It has one thread. A terminal sends the operator's signals to all processes; this one and its
// children ignore them, so that only the main process handles them.
#pragma once

#include <sys/types.h>

#include <csignal>
#include <cstddef>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/counter.h"
#include "base/shared_array.h"
#include "server/accept/listener_set.h"
#include "server/context.h"
#include "server/stop_signal.h"

namespace h2server::server {

// Counters in memory that all processes share.
class ProcessCounters {
 public:
  static Result<ProcessCounters> make(std::size_t connections_max);

  // One for each connection that may be open.
  [[nodiscard]] std::span<WorkerCounters> places() const noexcept { return places_.items(); }
  [[nodiscard]] base::Counter& children() const noexcept { return totals_.items()[0]; }
  [[nodiscard]] base::Counter& crashed() const noexcept { return totals_.items()[1]; }

 private:
  base::SharedArray<WorkerCounters> places_;
  base::SharedArray<base::Counter> totals_;
};

class ListeningProcess {
 public:
  // `shared`, `stop` and `counters` must outlive it.
  ListeningProcess(const SharedContext& shared, const StopSignal& stop,
                   std::vector<ListeningSocket> listeners, const ProcessCounters& counters);

  // Runs until the server stops or the main process dies, and all children have ended.
  [[noreturn]] void run() noexcept;

 private:
  void take_signals();
  void accept();
  bool try_fork(Accepted& connection, Admission::Ticket& ticket);
  void take_share(std::size_t processes) noexcept;
  [[noreturn]] void serve(Accepted connection, std::size_t place) noexcept;
  void wait_for_children();
  void reap();
  bool reap_one(int options);

  const SharedContext& shared_;
  const StopSignal& stop_;
  const ProcessCounters& counters_;
  ListenerSet listeners_;
  ResourceExhaustion exhaustion_;  // of processes
  sigset_t waiting_mask_{};        // unblocks SIGCHLD
  std::vector<std::size_t> free_places_;
  struct Child {
    std::size_t place;
    Admission::Ticket ticket;
  };
  std::unordered_map<pid_t, Child> children_;
};

// Returns, for example, "was ended by signal 11 (Segmentation fault)". `status` is from waitpid.
std::string describe_end(int status);

}  // namespace h2server::server
