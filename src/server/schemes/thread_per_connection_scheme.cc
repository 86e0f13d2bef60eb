#include "server/schemes/thread_per_connection_scheme.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/clock.h"
#include "base/log.h"
#include "server/schemes/blocking_worker.h"

namespace h2server::server {

ThreadPerConnectionScheme::ThreadPerConnectionScheme(const SharedContext& shared,
                                                     const SchemeOptions& options)
    : shared_(shared), options_(options) {
  for (unsigned i = 0; i < options.connections_max; ++i) free_.push_back(&places_.emplace_back());
}

ThreadPerConnectionScheme::~ThreadPerConnectionScheme() = default;

Result<void, std::string> ThreadPerConnectionScheme::start() {
  Listening sockets = listen(options_.listeners, stop_);
  if (!sockets) return std::unexpected(sockets.error());
  listeners_.emplace(*std::move(sockets), stop_.interrupts().drain);
  Result<BlockingThread> thread = BlockingThread::start([this] { accept(); });
  if (!thread) return std::unexpected("can't start a thread: " + thread.error().message());
  acceptor_ = *std::move(thread);
  return {};
}

void ThreadPerConnectionScheme::accept() {
  while (Place* const place = take_place()) {
    auto connection = listeners_->accept();
    if (!connection) return;
    place->connection = *std::move(connection);
    while (!try_start(*place)) {
      if (!listeners_->pause(ResourceExhaustion::pause_ms)) continue;
      place->connection.socket.close();
      return;
    }
  }
}

// Waits for a free place, which stays in `free_`. Returns null if the server stops.
ThreadPerConnectionScheme::Place* ThreadPerConnectionScheme::take_place() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return stopping_ || !free_.empty(); });
  if (stopping_) return nullptr;
  return free_.back();
}

bool ThreadPerConnectionScheme::try_start(Place& place) {
  const std::lock_guard lock(mutex_);  // leave() must not run before place.thread is set
  Result<BlockingThread> thread = BlockingThread::start([this, &place] { serve(place); });
  if (!thread) {
    exhaustion_.report(thread.error(), base::monotonic_ms());
    return false;
  }
  place.thread = *std::move(thread);
  std::erase(free_, &place);
  return true;
}

void ThreadPerConnectionScheme::serve(Place& place) {
  {
    BlockingWorker worker(shared_, stop_, place.counters);
    worker.serve(std::move(place.connection));
  }
  leave(place);
}

// Each thread joins the one that ended before it, so that at most one is left to join.
void ThreadPerConnectionScheme::leave(Place& place) {
  BlockingThread previous;
  {
    const std::lock_guard lock(mutex_);
    previous = std::move(ended_);
    ended_ = std::move(place.thread);
    free_.push_back(&place);
    changed_.notify_all();
  }
  shared_.give_up.notify();
  previous.join();
}

void ThreadPerConnectionScheme::stop() noexcept {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_all();
  stop_.ask();
  listeners_->refuse();
}

bool ThreadPerConnectionScheme::join() {
  acceptor_.join();
  const bool all = shared_.give_up.wait([this] {
    const std::lock_guard lock(mutex_);
    return free_.size() == places_.size();
  });
  std::unique_lock lock(mutex_);
  for (Place& place : places_) {
    if (std::ranges::find(free_, &place) != free_.end()) continue;
    base::log_error("a thread was left behind; {}", describe_last_route(place.counters));
    place.thread.leave_behind();
  }
  BlockingThread last = std::move(ended_);
  lock.unlock();
  last.join();  // it has joined all others that ended
  return all;
}

std::string ThreadPerConnectionScheme::report() const {
  WorkerTotals totals;
  for (const Place& place : places_) totals += place.counters;
  return fmt::format("threads: {} connections, {} accepted, {} streams\n", totals.connections,
                     totals.accepted, totals.streams);
}

}  // namespace h2server::server
