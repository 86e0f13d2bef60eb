// BlockingPool: threads that each take a connection, serve it until it ends, and take the next.
#pragma once

#include <atomic>
#include <deque>
#include <functional>
#include <optional>
#include <string>

#include "h2server/result.h"
#include "server/accept/accepted.h"
#include "server/context.h"
#include "server/schemes/blocking_thread.h"
#include "server/stop_signal.h"

namespace h2server::server {

class BlockingPool {
 public:
  // Waits for a connection; returns nullopt when the server stops. Called by all threads.
  using Take = std::function<std::optional<Accepted>()>;

  // `shared` and `stop` outlive the pool.
  BlockingPool(const SharedContext& shared, const StopSignal& stop, Take take);

  // After an error some threads may run; they end when `take` returns nullopt.
  Result<void, std::string> start(unsigned threads);
  // Waits for the threads. Returns false if it gave up and logged the threads that still run: the
  // pool and what it uses must then never be destroyed.
  [[nodiscard]] bool join();

  // Returns a line for each thread.
  [[nodiscard]] std::string report() const;

 private:
  struct Member {
    WorkerCounters counters;
    std::atomic<bool> ended{false};
    BlockingThread thread;
  };

  const SharedContext& shared_;
  const StopSignal& stop_;
  const Take take_;
  std::deque<Member> members_;
};

}  // namespace h2server::server
