// The process that accepts connections and forks another to serve each of them.
//
// It has one thread. It and its children leave the signals of the operator, which a terminal sends
// to all of them, to the main process.
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
#include "server/context.h"
#include "server/listener_set.h"
#include "server/stop_signal.h"

namespace h2server::server {

// In memory that all processes share.
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
  // All outlive it.
  ListeningProcess(const SharedContext& shared, const StopSignal& stop,
                   std::vector<base::Fd> listeners, const ProcessCounters& counters);

  // Until the server stops, or the main process dies, and every child has ended.
  [[noreturn]] void run() noexcept;

 private:
  void take_signals();
  void accept();
  bool try_fork(base::Fd& connection, Admission::Ticket& ticket);
  [[noreturn]] void serve(base::Fd connection, std::size_t place) noexcept;
  void wait_for_children();
  void reap();
  bool reap_one(int options);

  const SharedContext& shared_;
  const StopSignal& stop_;
  const ProcessCounters& counters_;
  ListenerSet listeners_;
  Shortage shortage_;        // of processes
  sigset_t waiting_mask_{};  // lets SIGCHLD through
  std::vector<std::size_t> free_places_;
  struct Child {
    std::size_t place;
    Admission::Ticket ticket;
  };
  std::unordered_map<pid_t, Child> children_;
};

// "was ended by signal 11 (Segmentation fault)". `status` is waitpid's.
std::string describe_end(int status);

}  // namespace h2server::server
