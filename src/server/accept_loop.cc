#include "server/accept_loop.h"

#include <cerrno>

#include "base/log.h"

namespace h2server::server {

namespace {

constexpr std::uint32_t room_pause_ms = 1;      // the precision of the timers
constexpr std::uint32_t shed_pause_ms = 5;      // for a close; with none idle: 200 tries a second
constexpr std::int64_t report_gap_ms = 10'000;  // between two log lines

}  // namespace

void ResourceExhaustion::report(const Error& error, std::int64_t now_ms) {
  if (now_ms < report_from_ms_) return;
  // EAGAIN comes from fork and pthread_create only.
  base::log_warning(
      "{}: new connections wait; raise the limit of {}", error.message(),
      error.code == EAGAIN ? "processes and threads (ulimit -u)" : "open files (ulimit -n)");
  report_from_ms_ = now_ms + report_gap_ms;
}

AcceptLoop::AcceptLoop(io::Engine& engine, ListeningSocket listener,
                       std::function<bool(Accepted&)> take, std::function<void()> shed)
    : listener_(engine, std::move(listener.socket)),
      cleartext_(listener.cleartext),
      take_(std::move(take)),
      shed_(std::move(shed)) {}

Task<void> AcceptLoop::run() {
  while (!stopped_) {
    io::AcceptOp accept(listener_);
    waiting_ = &accept;
    Result<base::Fd> connection = co_await accept;
    waiting_ = nullptr;
    if (connection) {
      Accepted accepted{*std::move(connection), cleartext_};
      while (!take_(accepted)) {
        const bool goes_on = co_await pause(room_pause_ms);
        if (!goes_on) co_return;
      }
      continue;
    }
    if (stopped_) co_return;
    exhaustion_.report(connection.error(), listener_.engine().now_ms());
    const int error = connection.error().code;
    const bool sheds = error == EMFILE || error == ENFILE;
    if (sheds) shed_();
    const bool goes_on = co_await pause(sheds ? shed_pause_ms : ResourceExhaustion::pause_ms);
    if (!goes_on) co_return;
  }
}

Task<bool> AcceptLoop::pause(std::uint32_t time_ms) {
  if (stopped_) co_return false;
  io::SleepOp sleep(listener_.engine(), time_ms);
  waiting_ = &sleep;
  const bool slept = co_await sleep;
  waiting_ = nullptr;
  co_return slept;
}

void AcceptLoop::stop() {
  stopped_ = true;
  if (waiting_ != nullptr) waiting_->cancel();
}

}  // namespace h2server::server
