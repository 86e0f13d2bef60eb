// BlockingWorker: serves connections in sequence on the thread that made it.
//
// Reads and writes are blocking calls. An HTTP/2 connection needs both at the same time, so it
// switches to an event loop of its own.
#pragma once

#include <memory>

#include "base/fd.h"
#include "h2server/task.h"
#include "h2server/task_group.h"
#include "io/blocking_engine.h"
#include "io/epoll_engine.h"
#include "server/accept/accepted.h"
#include "server/context.h"
#include "server/stop_signal.h"
#include "server/worker_services.h"

namespace h2server::server {

class BlockingWorker {
 public:
  // All must outlive the worker.
  BlockingWorker(const SharedContext& shared, const StopSignal& stop, WorkerCounters& counters);
  ~BlockingWorker();

  // Serves the connection until it ends. Closes it at once if Admission refuses it.
  void serve(Accepted connection);
  // Serves a connection that was admitted before.
  void serve(Accepted connection, Admission::Ticket ticket);

 private:
  // Of the current connection. `drain` and `cancel` are copies of the stop signal's descriptors,
  // since an io::Socket owns its descriptor.
  struct Loop {
    std::unique_ptr<io::EpollEngine> engine;
    base::Fd drain;
    base::Fd cancel;
    WorkerServices* services = nullptr;  // the engine's
  };

  void drain();
  void cancel();
  // Makes it if there is none. Null if the system lacks descriptors.
  io::Engine* loop();
  Task<void> watch(TaskGroup& connection);
  Task<void> watch_drain();
  Task<void> watch_cancel();

  const io::Interrupts interrupts_;
  io::BlockingEngine engine_;
  WorkerContext context_;
  Loop loop_;
  std::int64_t drain_due_ms_ = 0;  // 0 until it drains
};

}  // namespace h2server::server
