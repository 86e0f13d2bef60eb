// Acceptor: a thread that accepts connections and hands each to the worker the balancer chooses.
#pragma once

#include <atomic>
#include <deque>
#include <string>
#include <vector>

#include "h2server/result.h"
#include "h2server/task.h"
#include "server/accept/accepted.h"
#include "server/accept/balancer.h"
#include "server/engine_thread.h"
#include "server/worker.h"

namespace h2server::server {

class Acceptor {
 public:
  // `shared` and `workers` outlive the acceptor.
  Acceptor(const SharedContext& shared, std::vector<ListeningSocket> listeners,
           std::deque<Worker>& workers);

  Result<void, std::string> start();
  void stop() noexcept;
  // The same while another server accepts from the same sockets.
  void retire() noexcept;
  void join() { thread_.join(); }

  [[nodiscard]] const Balancer& balancer() const noexcept { return balancer_; }

 private:
  Task<void> run(io::Engine& engine);
  bool place(Accepted& connection);

  const SharedContext& shared_;
  std::vector<ListeningSocket> listeners_;
  std::deque<Worker>& workers_;
  Balancer balancer_;
  std::atomic<bool> stop_requested_{false};
  std::atomic<bool> retires_{false};
  EngineThread thread_;
};

}  // namespace h2server::server
