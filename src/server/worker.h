// Worker: a thread with an engine that serves many connections, from its inbox or from its own
// listeners.
//
// The owner's thread calls start() and join(), any thread stop(), and one thread hand_over().
#pragma once

#include <atomic>
#include <deque>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "base/spsc_queue.h"
#include "h2server/result.h"
#include "h2server/status.h"
#include "h2server/task.h"
#include "server/accept/accepted.h"
#include "server/context.h"
#include "server/engine_thread.h"
#include "server/long_turns.h"

namespace h2server::server {

class Worker {
 public:
  // Maximum connections that a busy worker has not taken yet. Beyond it, another worker gets them.
  static constexpr std::size_t inbox_size = 8192;  // twice Linux's default backlog (somaxconn)

  // `shared` must outlive the worker. `listeners` may be empty.
  Worker(const SharedContext& shared, std::vector<ListeningSocket> listeners);

  Result<void, std::string> start();
  // The worker's thread; with a foreign loop the one that called start().
  [[nodiscard]] EngineThread& thread() noexcept { return thread_; }
  // Stops accepting and drains; a second call cancels what still runs.
  void stop() noexcept;
  // Stops accepting and lets connections end in their time. Before stop().
  void retire() noexcept;
  // Waits for the thread. Returns false if it gave up and logged what still runs: the worker and
  // what it uses must then never be destroyed.
  [[nodiscard]] bool join();

  // Asks the worker to close its longest idle connection, if any. Any thread.
  void shed_longest_idle() noexcept {
    shed_requested_.store(true);
    thread_.wake();
  }

  // Posts to the worker's thread. Any thread, once started.
  [[nodiscard]] io::Mailbox& mailbox() const noexcept { return thread_.mailbox(); }

  // Returns false if the inbox is full; `connection` is then unchanged.
  [[nodiscard]] bool hand_over(Accepted& connection);

  // Any thread.
  [[nodiscard]] const WorkerCounters& counters() const noexcept { return counters_; }
  // Connections handed over and not taken yet. Any thread.
  [[nodiscard]] std::size_t waiting() const noexcept {
    const std::uint64_t taken = taken_.get();  // read first: both may grow meanwhile
    const std::uint64_t handed_over = handed_over_.get();
    return handed_over > taken ? handed_over - taken : 0;
  }
  // Its live connections, and those that it has not taken yet. Any thread.
  [[nodiscard]] std::uint64_t load() const noexcept {
    return counters_.connections.get() + waiting();
  }

 private:
  class WorkerLoop;  // lives on the worker's thread
  static Task<void> run_loop(Worker& worker, io::Engine& engine);
  void publish(std::vector<std::string> names);
  void report_unfinished();

  const SharedContext& shared_;
  std::vector<ListeningSocket> listeners_;
  base::SpscQueue<Accepted> inbox_{inbox_size};
  base::Counter handed_over_;  // counted by the thread that hands over
  base::Counter taken_;        // counted by the worker's thread
  WorkerCounters counters_;
  // Of the worker's thread. Outlives the loop, whose last turn ends after its end.
  LongTurns long_turns_{counters_};
  io::TurnWatch turns_{counters_.turns, [this](std::int64_t ms, std::int64_t now_ms) {
                         long_turns_.log(ms, now_ms);
                       }};
  std::atomic<int> stops_requested_{0};
  std::atomic<bool> retires_{false};
  std::atomic<bool> shed_requested_{false};
  std::atomic<bool> names_requested_{false};
  std::mutex names_mutex_;
  std::optional<std::vector<std::string>> names_;  // of unfinished requests, once published
  EngineThread thread_;
};

// Joins all. Returns false if one of them was left behind.
[[nodiscard]] bool join_all(std::deque<Worker>& workers);

[[nodiscard]] std::vector<io::Mailbox*> mailboxes_of(const std::deque<Worker>& workers);

[[nodiscard]] std::vector<ServerStatus::Worker> status_of(const std::deque<Worker>& workers);

// Returns a line for each worker: "worker 1: 12 connections, 345 accepted, 7 streams, 0 waiting".
std::string report_of(const std::deque<Worker>& workers);

}  // namespace h2server::server
