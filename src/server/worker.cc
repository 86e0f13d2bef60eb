#include "server/worker.h"

#include <fmt/format.h>

#include <deque>

#include "content/folder.h"
#include "coro/task_group.h"
#include "server/accept_loop.h"
#include "server/serve_connection.h"

namespace h2server::server {

class Worker::Life {
 public:
  Life(Worker& worker, io::Engine& engine)
      : worker_(worker), engine_(engine), context_(worker.shared_, engine, worker.counters_) {
    for (base::Fd& listener : worker.listeners_) {
      accept_loops_.emplace_back(engine, std::move(listener), [this](base::Fd& connection) {
        serve(std::move(connection));
        return true;
      });
    }
  }

  Task<void> run() {
    coro::TaskGroup accepting;
    for (AcceptLoop& loop : accept_loops_) accepting.start(loop.run());
    // What was handed over before the stop was asked for is served too.
    while (worker_.stops_asked_.load() == 0 ||
           (worker_.stops_asked_.load() == 1 && worker_.waiting() > 0)) {
      io::WokenOp woken(engine_);
      co_await woken;
      take_handed_over();
    }
    take_handed_over();  // asked twice to stop, it ends what there is
    for (AcceptLoop& loop : accept_loops_) loop.stop();
    co_await accepting.join();
    accept_loops_.clear();  // closes the listeners
    context_.service.connections.drain();
    coro::TaskGroup watching;
    watching.start(watch_clock());
    watching.start(watch_stops());
    co_await connections_.join();
    ended_ = true;
    engine_.cancel_all();
    co_await watching.join();
  }

 private:
  void serve(base::Fd connection) {
    connections_.start(serve_connection(context_, std::move(connection)));
  }

  void take_handed_over() {
    const auto take = [this](base::Fd connection) {
      worker_.taken_.up();
      serve(std::move(connection));
    };
    for (base::Fd passed; (passed = engine_.take_passed()).valid();) take(std::move(passed));
    while (std::optional<base::Fd> connection = worker_.inbox_.try_pop()) {
      take(*std::move(connection));
    }
  }

  // Ends what takes longer than it may.
  Task<void> watch_clock() {
    io::SleepOp limit(engine_, worker_.shared_.drain_ms_max);
    const bool over = co_await limit;
    if (over && !ended_) engine_.cancel_all();
  }

  // Ends everything when the operator asks again.
  Task<void> watch_stops() {
    while (!ended_ && worker_.stops_asked_.load() < 2) {
      io::WokenOp woken(engine_);
      const bool again = co_await woken;
      if (!again) co_return;
    }
    if (!ended_) engine_.cancel_all();
  }

  Worker& worker_;
  io::Engine& engine_;
  WorkerContext context_;
  std::deque<AcceptLoop> accept_loops_;  // they do not move
  coro::TaskGroup connections_;
  bool ended_ = false;  // every connection
};

Worker::Worker(const SharedContext& shared, std::vector<base::Fd> listeners)
    : shared_(shared), listeners_(std::move(listeners)) {}

Result<void, std::string> Worker::start() {
  return thread_.start(shared_.engine, [this](io::Engine& engine) { return live(*this, engine); });
}

Task<void> Worker::live(Worker& worker, io::Engine& engine) {
  content::set_thread_folder(worker.shared_.root.get());
  Life life(worker, engine);
  co_await life.run();
}

void Worker::stop() noexcept {
  stops_asked_.fetch_add(1);
  thread_.wake();
}

bool Worker::hand_over(base::Fd& connection) {
  if (waiting() >= inbox_size) return false;
  handed_over_.up();
  // From ring to ring where both threads have one: the kernel carries it and wakes the worker.
  io::Engine* const ours = io::Engine::current();
  if (ours != nullptr && ours->pass(thread_.engine(), connection)) return true;
  const bool pushed = inbox_.try_push(connection);
  ASSERT(pushed);  // it has room for all that may wait
  thread_.wake();
  return true;
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
