#include "server/accept/accept_loop.h"

#include <poll.h>
#include <sys/socket.h>

#include <cerrno>

#include "base/log.h"
#include "io/loop_engine.h"
#include "net/listener.h"

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
      kind_(listener.kind),
      take_(std::move(take)),
      shed_(std::move(shed)) {
  net::bound_accept(listener_.fd());
}

Task<void> AcceptLoop::run() {
  co_await accept_all();
  if (retires_) take_rest();
}

Task<void> AcceptLoop::accept_all() {
  while (!stopped_ || may_hold_) {
    io::AcceptOp accept(listener_);
    waiting_ = &accept;
    Result<base::Fd> connection = co_await accept;
    waiting_ = nullptr;
    if (connection) {
      Accepted accepted{*std::move(connection), kind_};
      while (!take_(accepted)) {
        const bool goes_on = co_await pause(room_pause_ms);
        if (!goes_on) co_return;
      }
      continue;
    }
    // EINVAL: the listener was shut down.
    if (stopped_ || connection.error().code == EINVAL) co_return;
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

void AcceptLoop::retire() {
  retires_ = true;
  stop();
}

// No operation waits for the listener any more. Who shares it may take a connection first, and its
// mode may change at any time: then accept4() returns EAGAIN after a tick, see net::bound_accept().
void AcceptLoop::take_rest() {
  pollfd arrival{.fd = listener_.fd(), .events = POLLIN, .revents = 0};
  while (::poll(&arrival, 1, 0) > 0) {
    Accepted accepted{base::Fd(::accept4(listener_.fd(), nullptr, nullptr, SOCK_CLOEXEC)), kind_};
    if (!accepted.socket.valid() && io::concerns_one_connection(errno)) continue;
    // EAGAIN: taken. EMFILE and others: the other server's to deal with.
    if (!accepted.socket.valid() || !take_(accepted)) break;
  }
}

void AcceptLoop::stop() {
  if (stopped_) return;
  stopped_ = true;
  // A client whose connection was accepted may have sent its request.
  may_hold_ = listener_.engine().end_accepting(listener_);
  const bool accepts = waiting_ != nullptr && waiting_->kind == io::Op::Kind::accept;
  if (waiting_ != nullptr && !(accepts && may_hold_)) waiting_->cancel();
}

}  // namespace h2server::server
