#include "server/engine_thread.h"

#include <fmt/format.h>

#include <system_error>

#include "h2server/task_group.h"
#include "io/choose.h"

namespace h2server::server {

namespace {

Task<void> run_body(const std::function<Task<void>(io::Engine&)>& body, io::Engine& engine) {
  co_await body(engine);
  engine.stop();
}

}  // namespace

EngineThread::~EngineThread() { ASSERT(!thread_.joinable()); }

Result<void, std::string> EngineThread::start(io::EngineKind kind,
                                              std::function<Task<void>(io::Engine&)> body,
                                              GiveUp& give_up) {
  std::promise<Outcome> promise;
  std::future<Outcome> outcome = promise.get_future();
  try {
    thread_ = std::thread(
        [this, kind, body = std::move(body), promise = std::move(promise), &give_up]() mutable {
          thread_main(kind, body, std::move(promise));
          ended_.store(true);
          give_up.notify();
        });
  } catch (const std::system_error& error) {
    return std::unexpected(fmt::format("can't start a thread: {}", error.what()));
  }
  Outcome begun = outcome.get();
  if (!begun) thread_.join();
  return begun;
}

void EngineThread::thread_main(io::EngineKind kind,
                               const std::function<Task<void>(io::Engine&)>& body,
                               std::promise<Outcome> outcome) {
  Result<std::unique_ptr<io::Engine>> engine = io::open_engine(kind);
  if (!engine) {
    outcome.set_value(std::unexpected("can't start an engine: " + engine.error().message()));
    return;
  }
  engine_ = *std::move(engine);
  io::Engine::set_current(engine_.get());
  mailbox_ = io::Mailbox::add_to(*engine_);
  outcome.set_value({});
  TaskGroup group;
  group.start(run_body(body, *engine_));
  engine_->run();
}

void EngineThread::join() {
  if (thread_.joinable()) thread_.join();
}

}  // namespace h2server::server
