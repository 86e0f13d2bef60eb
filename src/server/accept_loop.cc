#include "server/accept_loop.h"

namespace h2server::server {

AcceptLoop::AcceptLoop(io::Engine& engine, base::Fd listener, std::function<void(base::Fd)> take)
    : listener_(engine, std::move(listener)), take_(std::move(take)) {}

Task<void> AcceptLoop::run() {
  while (!stopped_) {
    io::AcceptOp accept(listener_);
    waiting_ = &accept;
    Result<base::Fd> connection = co_await accept;
    waiting_ = nullptr;
    if (connection) {
      take_(*std::move(connection));
      continue;
    }
    if (stopped_) co_return;
    shortage_.report(connection.error(), listener_.engine().now_ms());
    io::SleepOp pause(listener_.engine(), Shortage::pause_ms);
    waiting_ = &pause;
    const bool slept = co_await pause;
    waiting_ = nullptr;
    if (!slept) co_return;
  }
}

void AcceptLoop::stop() {
  stopped_ = true;
  if (waiting_ != nullptr) waiting_->cancel();
}

}  // namespace h2server::server
