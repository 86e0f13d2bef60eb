#include "server/worker.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <deque>

#include "base/log.h"
#include "file/cache_index.h"
#include "h2server/task_group.h"
#include "server/accept/accept_loop.h"
#include "server/serve_connection.h"
#include "server/worker_services.h"

namespace h2server::server {

namespace {

// Returns lines for the log: so many names, and the number of the others.
std::vector<std::string> in_lines(std::vector<std::string> names) {
  constexpr std::size_t lines_max = 10;
  if (names.size() <= lines_max) return names;
  const std::size_t others = names.size() - lines_max;
  names.resize(lines_max);
  names.push_back(fmt::format("{} more request{}", others, others == 1 ? "" : "s"));
  return names;
}

}  // namespace

class Worker::WorkerLoop {
 public:
  WorkerLoop(Worker& worker, io::Engine& engine)
      : worker_(worker),
        engine_(engine),
        services_(WorkerServices::add_to(engine, worker.shared_)),
        context_(worker.shared_, engine, worker.counters_) {
    services_.set_worker(context_);
    engine.watch_turns(worker.turns_);
    for (ListeningSocket& listener : worker.listeners_) {
      accept_loops_.emplace_back(
          engine, std::move(listener),
          [this](Accepted& connection) {
            serve(std::move(connection));
            return true;
          },
          [this] { context_.connections.shed_longest_idle(); });
    }
  }

  WorkerLoop(const WorkerLoop&) = delete;
  WorkerLoop& operator=(const WorkerLoop&) = delete;
  ~WorkerLoop() { services_.forget_worker(); }

  Task<void> run() {
    TaskGroup accepting;
    for (AcceptLoop& loop : accept_loops_) accepting.start(loop.run());
    while (takes_connections()) {
      io::WokenOp woken(engine_);
      co_await woken;
      take_handed_over();
      if (worker_.shed_requested_.exchange(false)) context_.connections.shed_longest_idle();
    }
    take_handed_over();  // after a second stop(): to be cancelled
    const bool retires = worker_.stops_requested_.load() == 0;
    for (AcceptLoop& loop : accept_loops_) {
      if (retires) loop.retire();
      else loop.stop();
    }
    co_await accepting.join();
    accept_loops_.clear();  // closes the listeners
    TaskGroup watching;
    watching.start(retires ? watch_retirement() : watch_clock());
    watching.start(watch_requests());
    services_.drain();
    if (!retires) context_.connections.drain();
    co_await connections_.join();
    co_await services_.background().join();
    services_.close();
    ended_ = true;
    stop_asked_.set();
    engine_.cancel_all();
    if (waiting_ != nullptr) waiting_->cancel();
    co_await watching.join();
  }

 private:
  // Connections that were handed over before the end are served too.
  [[nodiscard]] bool takes_connections() const {
    const int stops = worker_.stops_requested_.load();
    if (stops == 0 && !worker_.retires_.load()) return true;
    return stops <= 1 && worker_.waiting() > 0;
  }

  void serve(Accepted connection) {
    Admission& admission = worker_.shared_.admission;
    std::expected<Admission::Ticket, Admission::Refusal> ticket =
        admission.admit(connection.socket.get());
    if (!ticket) {
      admission.report(ticket.error(), engine_.now_ms());
      return;
    }
    // Closes an idle connection to make room, or the new one if none is idle.
    if (ticket->is_over() && !context_.connections.shed_longest_idle()) {
      admission.report(Admission::Refusal::full, engine_.now_ms());
      return;
    }
    connections_.start(serve_connection(context_, std::move(connection), *std::move(ticket)));
  }

  void take_handed_over() {
    const auto take = [this](Accepted connection) {
      worker_.taken_.up();
      serve(std::move(connection));
    };
    for (base::Fd passed; (passed = engine_.take_passed()).valid();) {
      take({std::move(passed), worker_.shared_.usual_listener});
    }
    while (std::optional<Accepted> connection = worker_.inbox_.try_pop()) {
      take(*std::move(connection));
    }
  }

  void cancel() {
    context_.connections.cancel();
    engine_.cancel_all();
  }

  // Says what the drain waits for, and cancels what still runs at its limit.
  Task<void> watch_clock() {
    constexpr std::uint32_t quiet_ms = 1000;
    std::uint32_t rest_ms = worker_.shared_.drain_ms_max;
    if (rest_ms > quiet_ms) {
      io::SleepOp quiet(engine_, quiet_ms);
      const bool slept = co_await quiet;
      if (slept && !ended_) name_what_runs();
      rest_ms -= quiet_ms;
    }
    io::SleepOp limit(engine_, rest_ms);
    const bool over = co_await limit;
    if (over && !ended_) cancel();
  }

  // Another server accepts in place of this one. A connection that pauses for a second is ended:
  // the client's next one is the other server's. One that is never idle is told after a minute, so
  // that clients without a way to go on, such as h2load, are seldom cut off. What is in flight has
  // its time, until a stop.
  Task<void> watch_retirement() {
    constexpr std::uint32_t pause_ms = 1000;
    constexpr int pauses_max = 60;
    http::DrainList& connections = context_.connections;
    for (int pauses = 0; pauses < pauses_max && worker_.stops_requested_.load() == 0; ++pauses) {
      connections.drain_paused();
      co_await pause(pause_ms);
    }
    if (worker_.stops_requested_.load() == 0) {
      connections.retire();
      co_await pause(pause_ms);
    }
    connections.drain();
    co_await stop_asked_.wait();
    if (!ended_) co_await watch_clock();
  }

  // Ends early at a stop.
  Task<void> pause(std::uint32_t time_ms) {
    io::SleepOp sleep(engine_, time_ms);
    patience_ = &sleep;
    co_await sleep;
    patience_ = nullptr;
  }

  void name_what_runs() const {
    for (const std::string& line : in_lines(context_.connections.name_unfinished())) {
      base::log_info("waiting for {}", line);
    }
  }

  // Serves the owner's requests while connections end: to cancel them, and to name unfinished ones.
  Task<void> watch_requests() {
    bool cancelled = false;
    while (!ended_) {
      if (worker_.stops_requested_.load() >= 1) {
        stop_asked_.set();
        if (patience_ != nullptr) patience_->cancel();
      }
      if (!cancelled && worker_.stops_requested_.load() >= 2) {
        cancelled = true;
        cancel();
      }
      if (worker_.names_requested_.exchange(false)) {
        worker_.publish(context_.connections.name_unfinished());
      }
      constexpr bool outlasts_cancel_all = true;
      io::WokenOp woken(engine_, outlasts_cancel_all);
      waiting_ = &woken;
      co_await woken;
      waiting_ = nullptr;
    }
  }

  Worker& worker_;
  io::Engine& engine_;
  WorkerServices& services_;
  WorkerContext context_;
  std::deque<AcceptLoop> accept_loops_;  // stable addresses
  TaskGroup connections_;
  io::WokenOp* waiting_ = nullptr;
  coro::Event stop_asked_;           // while it retires
  io::SleepOp* patience_ = nullptr;  // the same: pause() waits
  bool ended_ = false;               // all connections have ended
};

Worker::Worker(const SharedContext& shared, std::vector<ListeningSocket> listeners)
    : shared_(shared), listeners_(std::move(listeners)) {}

Result<void, std::string> Worker::start() {
  if (shared_.foreign_loop)
    return thread_.adopt([this](io::Engine& engine) { return run_loop(*this, engine); });
  return thread_.start(
      shared_.engine, [this](io::Engine& engine) { return run_loop(*this, engine); },
      shared_.give_up);
}

Task<void> Worker::run_loop(Worker& worker, io::Engine& engine) {
  file::CacheIndex::add_to(engine, file::Cache::of_process());
  WorkerLoop loop(worker, engine);
  co_await loop.run();
}

void Worker::retire() noexcept {
  retires_.store(true);
  thread_.wake();
}

void Worker::stop() noexcept {
  stops_requested_.fetch_add(1);
  thread_.wake();
}

bool Worker::join() {
  if (!thread_.wait_for_end(shared_.give_up)) {
    report_unfinished();
    if (!thread_.ended()) {
      thread_.leave_behind();
      return false;
    }
  }
  thread_.join();
  return true;
}

// Answers report_unfinished(). Called on the worker's thread.
void Worker::publish(std::vector<std::string> names) {
  {
    const std::lock_guard lock(names_mutex_);
    names_ = std::move(names);
  }
  shared_.give_up.notify();
}

void Worker::report_unfinished() {
  constexpr std::chrono::milliseconds answer_max{200};
  names_requested_.store(true);
  thread_.wake();
  thread_.poll();
  const auto answered = [this] {
    const std::lock_guard lock(names_mutex_);
    return names_.has_value() || thread_.ended();
  };
  if (!shared_.give_up.wait_for(answer_max, answered)) {
    base::log_error("a worker was left behind: its thread hangs; {}",
                    describe_last_route(counters_));
    return;
  }
  const std::lock_guard lock(names_mutex_);
  for (const std::string& line : in_lines(names_.value_or(std::vector<std::string>()))) {
    base::log_error("left behind: {}", line);
  }
}

bool join_all(std::deque<Worker>& workers) {
  bool all = true;
  for (Worker& worker : workers) all = worker.join() && all;
  return all;
}

bool Worker::hand_over(Accepted& connection) {
  if (waiting() >= inbox_size) return false;
  handed_over_.up();
  // If both threads have an io_uring, the kernel passes the descriptor and wakes the worker. It
  // passes nothing else, so connections of other listeners than
  // the first take the inbox.
  io::Engine* const ours = io::Engine::current();
  const bool usual = connection.kind == shared_.usual_listener;
  if (ours != nullptr && usual && ours->pass(thread_.engine(), connection.socket)) return true;
  const bool pushed = inbox_.try_push(connection);
  // The counters may be seen ahead of the queue's indices: the queue then has no room yet.
  if (!pushed) handed_over_.down();
  thread_.wake();  // a stopping worker may wait for the counted connection
  return pushed;
}

std::vector<io::Mailbox*> mailboxes_of(const std::deque<Worker>& workers) {
  std::vector<io::Mailbox*> all;
  for (const Worker& worker : workers) all.push_back(&worker.mailbox());
  return all;
}

std::vector<ServerStatus::Worker> status_of(const std::deque<Worker>& workers) {
  std::vector<ServerStatus::Worker> all;
  for (const Worker& worker : workers) {
    const WorkerCounters& counters = worker.counters();
    all.push_back({.number = static_cast<unsigned>(all.size() + 1),
                   .connections = counters.connections.get(),
                   .accepted = counters.accepted.get(),
                   .streams = counters.streams.get(),
                   .waiting = worker.waiting(),
                   .turns = counters.turns.total(),
                   .requests = counters.requests.get(),
                   .turn_times = counters.turns.counts(),
                   .turns_ms = counters.turns.sum_ms()});
  }
  return all;
}

std::string report_of(const std::deque<Worker>& workers) {
  std::string lines;
  std::size_t number = 0;
  for (const Worker& worker : workers) {
    lines += fmt::format("{}, {} waiting\n", line_of_worker(++number, worker.counters()),
                         worker.waiting());
  }
  return lines;
}

}  // namespace h2server::server
