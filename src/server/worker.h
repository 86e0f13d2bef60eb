// Worker: a thread with an engine that serves connections. They come through its inbox, or from
// listeners of its own.
//
// start(), stop() and join() are for the thread that owns the worker, hand_over() for one other.
#pragma once

#include <atomic>
#include <deque>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "base/fd.h"
#include "base/spsc_queue.h"
#include "h2server/result.h"
#include "h2server/task.h"
#include "server/context.h"
#include "server/engine_thread.h"

namespace h2server::server {

class Worker {
 public:
  // Connections that a busy worker has not taken yet: beyond, another worker is better.
  static constexpr std::size_t inbox_size = 8192;  // twice Linux's longest backlog (somaxconn)

  // `shared` outlives the worker. `listeners` may be empty.
  Worker(const SharedContext& shared, std::vector<base::Fd> listeners);

  Result<void, std::string> start();
  // Drains; the second call cancels what still runs.
  void stop() noexcept;
  // Returns false if it gave up, and said what has not ended: then the worker and what it uses must
  // never be destroyed.
  [[nodiscard]] bool join();

  // Ends a connection that is idle, if there is one. Any thread.
  void shed_longest_idle() noexcept {
    shed_asked_.store(true);
    thread_.wake();
  }

  // False when as many as may wait already do; `connection` is untouched then.
  [[nodiscard]] bool hand_over(base::Fd& connection);

  // Any thread.
  [[nodiscard]] const WorkerCounters& counters() const noexcept { return counters_; }
  // Connections that were handed over and not taken yet. Any thread.
  [[nodiscard]] std::size_t waiting() const noexcept {
    const std::uint64_t taken = taken_.get();  // first: it may go on meanwhile
    const std::uint64_t handed_over = handed_over_.get();
    return handed_over > taken ? handed_over - taken : 0;
  }

 private:
  class Life;  // on the thread
  static Task<void> live(Worker& worker, io::Engine& engine);
  void publish(std::vector<std::string> names);
  void report_unfinished();

  const SharedContext& shared_;
  std::vector<base::Fd> listeners_;
  base::SpscQueue<base::Fd> inbox_{inbox_size};
  base::Counter handed_over_;  // counted by who does it
  base::Counter taken_;        // by the worker
  WorkerCounters counters_;
  std::atomic<int> stops_asked_{0};
  std::atomic<bool> shed_asked_{false};
  std::atomic<bool> names_asked_{false};
  std::mutex names_mutex_;
  std::optional<std::vector<std::string>> names_;  // of unfinished requests, once asked for
  EngineThread thread_;
};

// Returns false if one of them was left behind.
[[nodiscard]] bool join_all(std::deque<Worker>& workers);

// A line for each worker: "worker 1: 12 connections, 345 accepted, 7 streams, 0 waiting".
std::string report_of(const std::deque<Worker>& workers);

}  // namespace h2server::server
