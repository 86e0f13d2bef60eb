// BlockingWorker: serves connections, one after the other, on the thread that made it.
//
// Reads and writes are calls that block. A connection that speaks HTTP/2 needs both at the same
// time: it goes on with an event loop that is made for it and serves nobody else.
#pragma once

#include <memory>

#include "base/fd.h"
#include "coro/task_group.h"
#include "h2server/task.h"
#include "io/blocking_engine.h"
#include "io/epoll_engine.h"
#include "server/context.h"
#include "server/stop_signal.h"

namespace h2server::server {

class BlockingWorker {
 public:
  // All outlive the worker.
  BlockingWorker(const SharedContext& shared, const StopSignal& stop, WorkerCounters& counters);
  ~BlockingWorker();

  // Until the connection is done with. There may be too many of them: then it is closed at once.
  void serve(base::Fd connection);
  // The same where the connection was admitted before.
  void serve(base::Fd connection, Admission::Ticket ticket);

 private:
  // Of the connection at hand. It watches copies of the stop signal's descriptors, since sockets
  // own theirs.
  struct Loop {
    std::unique_ptr<io::EpollEngine> engine;
    base::Fd drain;
    base::Fd cancel;
  };

  void drain();
  io::Engine* make_loop();
  Task<void> watch(coro::TaskGroup& connection);
  Task<void> watch_drain();
  Task<void> watch_cancel();

  const io::Interrupts interrupts_;
  io::BlockingEngine engine_;
  WorkerContext context_;
  Loop loop_;
  std::int64_t drain_due_ms_ = 0;  // once it drains
};

}  // namespace h2server::server
