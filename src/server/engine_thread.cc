#include "server/engine_thread.h"

#include <fmt/format.h>
#include <poll.h>

#include <system_error>

#include "h2server/task_group.h"
#include "io/choose.h"

namespace h2server::server {

namespace {

Task<void> run_body(const std::function<Task<void>(io::Engine&)>& body, io::Engine& engine) {
  co_await body(engine);
  engine.stop();
}

Task<void> note_end(Task<void> body, std::atomic<bool>& ended) {
  co_await body;
  ended.store(true);
}

}  // namespace

EngineThread::~EngineThread() { ASSERT(!thread_.joinable()); }

Result<void, std::string> EngineThread::start(io::EngineWanted wanted,
                                              std::function<Task<void>(io::Engine&)> body,
                                              GiveUp& give_up) {
  std::promise<Outcome> promise;
  std::future<Outcome> outcome = promise.get_future();
  try {
    thread_ = std::thread(
        [this, wanted, body = std::move(body), promise = std::move(promise), &give_up]() mutable {
          thread_main(wanted, body, std::move(promise));
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

void EngineThread::thread_main(io::EngineWanted wanted,
                               const std::function<Task<void>(io::Engine&)>& body,
                               std::promise<Outcome> outcome) {
  Result<std::unique_ptr<io::Engine>> engine = io::open_engine(wanted);
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

Result<void, std::string> EngineThread::adopt(const std::function<Task<void>(io::Engine&)>& body) {
  Result<io::PolledLoop> loop = io::PolledLoop::open();
  if (!loop) return std::unexpected("can't start an engine: " + loop.error().message());
  polled_.emplace(*std::move(loop));
  io::EpollEngine& engine = polled_->engine();
  mailbox_ = io::Mailbox::add_to(engine);
  io::Engine* const before = io::Engine::current();
  io::Engine::set_current(&engine);
  body_.start(note_end(body(engine), ended_));
  io::Engine::set_current(before);
  polled_->turn();
  return {};
}

bool EngineThread::wait_for_end(GiveUp& give_up) {
  if (!polled_) {
    return give_up.wait([this] { return ended(); });
  }
  constexpr int look_ms = 100;  // for the time to give up
  while (!ended()) {
    if (give_up.is_past(GiveUp::Clock::duration::zero())) return false;
    pollfd watched{.fd = polled_->descriptor(), .events = POLLIN, .revents = 0};
    ::poll(&watched, 1, look_ms);
    polled_->turn();
  }
  return true;
}

void EngineThread::join() {
  if (thread_.joinable()) thread_.join();
}

}  // namespace h2server::server
