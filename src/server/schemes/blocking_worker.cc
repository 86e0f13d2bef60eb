#include "server/schemes/blocking_worker.h"

#include <fcntl.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <thread>

#include "base/log.h"
#include "base/memory/freed_memory.h"
#include "io/mailbox.h"
#include "server/serve_connection.h"
#include "server/worker_services.h"

namespace h2server::server {

namespace {

base::Fd copy_of(int descriptor) { return base::Fd(::fcntl(descriptor, F_DUPFD_CLOEXEC, 0)); }

// Waits until one of the stop signal's descriptors is readable. Returns false if cancelled.
Task<bool> asked(io::Engine& engine, base::Fd descriptor) {
  io::Socket socket(engine, std::move(descriptor));
  io::ReceiveOp receive(socket, 0);
  const Result<io::Lease> end = co_await receive;
  // ENOMEM, ENOSPC: it can't be watched. Stopping too early is better than never.
  co_return end || end.error().code != ECANCELED;
}

}  // namespace

BlockingWorker::BlockingWorker(const SharedContext& shared, const StopSignal& stop,
                               WorkerCounters& counters)
    : interrupts_(stop.interrupts()),
      engine_(interrupts_, [this] { drain(); }),
      context_(shared, engine_, counters) {
  engine_.set_loop([this] { return loop(); });
  WorkerServices::add_to(engine_, shared);
  io::Engine::set_current(&engine_);
}

BlockingWorker::~BlockingWorker() { io::Engine::set_current(nullptr); }

void BlockingWorker::serve(Accepted connection) {
  Admission& admission = context_.shared.admission;
  std::expected<Admission::Ticket, Admission::Refusal> ticket =
      admission.admit(connection.socket.get());
  if (ticket) {
    serve(std::move(connection), *std::move(ticket));
  } else {
    admission.report(ticket.error(), engine_.now_ms());
  }
  // No event loop comes back for it later.
  base::FreedMemory& freed = base::FreedMemory::of_process();
  if (freed.take_request() && freed.begin_round()) freed.look();
}

void BlockingWorker::serve(Accepted connection, Admission::Ticket ticket) {
  constexpr std::chrono::milliseconds pause{100};
  TaskGroup serving;
  serving.start(serve_connection(context_, std::move(connection), std::move(ticket)));
  if (serving.running() > 0) {  // it waits on the loop, or for an event of its own
    // A suspended coroutine can't be abandoned, so making a loop is retried until it succeeds.
    while (loop() == nullptr) std::this_thread::sleep_for(pause);
    TaskGroup watching;
    watching.start(watch(serving));
    loop_.engine->run();
  }
  io::Engine::set_current(&engine_);
  if (loop_.engine == nullptr) return;
  loop_ = {};
  context_.free_reserve();  // many streams have left it, and nobody comes back for it later
}

// From the first call on, requests in flight have a time limit.
void BlockingWorker::drain() {
  if (drain_due_ms_ == 0) {
    drain_due_ms_ = engine_.now_ms() + context_.shared.drain_ms_max;
    engine_.cancel_all_at(drain_due_ms_);
  }
  if (loop_.services != nullptr) loop_.services->drain();
  context_.connections.drain();
}

// --- HTTP/2 -----------------------------------------------------------------------------------

io::Engine* BlockingWorker::loop() {
  if (loop_.engine != nullptr) return loop_.engine.get();
  Result<std::unique_ptr<io::EpollEngine>> engine = io::EpollEngine::open();
  base::Fd drain = copy_of(interrupts_.drain);
  base::Fd cancel = copy_of(interrupts_.cancel);
  if (!engine || !drain.valid() || !cancel.valid()) {
    base::log_error(
        "no descriptors for the event loop of a connection over HTTP/2, or of a handler "
        "that waits");
    return nullptr;
  }
  loop_ = {*std::move(engine), std::move(drain), std::move(cancel)};
  io::Mailbox::add_to(*loop_.engine);
  loop_.services = &WorkerServices::add_to(*loop_.engine, context_.shared);
  if (drain_due_ms_ != 0) loop_.services->drain();
  io::Engine::set_current(loop_.engine.get());
  return loop_.engine.get();
}

Task<void> BlockingWorker::watch(TaskGroup& connection) {
  TaskGroup watching;
  watching.start(watch_drain());
  watching.start(watch_cancel());
  co_await connection.join();
  loop_.engine->cancel_all();
  co_await watching.join();
  loop_.engine->stop();
}

Task<void> BlockingWorker::watch_drain() {
  const bool drains = co_await asked(*loop_.engine, std::move(loop_.drain));
  if (!drains) co_return;
  drain();
  const std::int64_t left_ms = std::max<std::int64_t>(drain_due_ms_ - engine_.now_ms(), 1);
  io::SleepOp limit(*loop_.engine, static_cast<std::uint32_t>(left_ms));
  const bool over = co_await limit;
  if (over) cancel();
}

Task<void> BlockingWorker::watch_cancel() {
  const bool cancels = co_await asked(*loop_.engine, std::move(loop_.cancel));
  if (cancels) cancel();
}

void BlockingWorker::cancel() {
  context_.connections.cancel();
  loop_.engine->cancel_all();
}

}  // namespace h2server::server
