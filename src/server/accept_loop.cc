#include "server/accept_loop.h"

#include "base/log.h"

namespace h2server::server {

namespace {

constexpr std::uint32_t pause_ms = 100;            // until a descriptor may have become free
constexpr std::int64_t complaint_gap_ms = 10'000;  // one line tells it all

}  // namespace

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
    complain(connection.error());
    io::SleepOp pause(listener_.engine(), pause_ms);
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

void AcceptLoop::complain(const Error& error) {
  const std::int64_t now_ms = listener_.engine().now_ms();
  if (now_ms < complain_from_ms_) return;
  base::log_warning("{}: new connections wait; raise the limit of open files (ulimit -n)",
                    error.message());
  complain_from_ms_ = now_ms + complaint_gap_ms;
}

}  // namespace h2server::server
