#include "server/accept/acceptor.h"

#include "h2server/task_group.h"
#include "server/accept/accept_loop.h"

namespace h2server::server {

Acceptor::Acceptor(const SharedContext& shared, std::vector<ListeningSocket> listeners,
                   std::deque<Worker>& workers)
    : shared_(shared),
      listeners_(std::move(listeners)),
      workers_(workers),
      balancer_(static_cast<unsigned>(workers.size())) {}

Result<void, std::string> Acceptor::start() {
  return thread_.start(
      shared_.engine, [this](io::Engine& engine) { return run(engine); }, shared_.give_up);
}

void Acceptor::retire() noexcept {
  retires_.store(true);
  stop();
}

void Acceptor::stop() noexcept {
  stop_requested_.store(true);
  thread_.wake();
}

Task<void> Acceptor::run(io::Engine& engine) {
  std::deque<AcceptLoop> loops;
  TaskGroup accepting;
  for (ListeningSocket& listener : listeners_) {
    loops.emplace_back(
        engine, std::move(listener), [this](Accepted& connection) { return place(connection); },
        [this] {
          for (Worker& worker : workers_) worker.shed_longest_idle();
        });
    accepting.start(loops.back().run());
  }
  while (!stop_requested_.load()) {
    io::WokenOp woken(engine);
    co_await woken;
  }
  for (AcceptLoop& loop : loops) {
    if (retires_.load()) loop.retire();
    else loop.stop();
  }
  co_await accepting.join();
}

// Returns false if every inbox is full: connections then wait in the listener's backlog.
bool Acceptor::place(Accepted& connection) {
  return balancer_
      .place(
          connection.socket.get(), [&](unsigned worker) { return workers_[worker].load(); },
          [&](unsigned worker) { return workers_[worker].hand_over(connection); })
      .has_value();
}

}  // namespace h2server::server
