// Idle mode: opens connections, sends one request on each, then holds all until the standard input
// ends. The line "ready" tells the measuring process that all are held.
#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>

#include "load/clock.h"
#include "load/mode.h"

namespace h2server::lab::load {

namespace {

constexpr std::size_t opening_at_once = 128;  // no server has a shorter backlog

// Watches for the end of the standard input.
class InputEnd final : public Handler {
 public:
  void wait(Loop& loop) {
    ::fcntl(STDIN_FILENO, F_SETFL, ::fcntl(STDIN_FILENO, F_GETFL) | O_NONBLOCK);
    // epoll does not support files (EPERM). A file can be read at once.
    if (loop.add(STDIN_FILENO, *this)) return;
    while (!reached_) turn(0);
  }
  bool reached() const noexcept { return reached_; }

  void turn(std::uint32_t) override {
    std::array<char, 4096> dropped;
    ssize_t size = 0;
    do {
      size = ::read(STDIN_FILENO, dropped.data(), dropped.size());
    } while (size > 0 || (size < 0 && errno == EINTR));
    // Any error but EAGAIN counts as the end.
    reached_ = size == 0 || errno != EAGAIN;
  }

 private:
  bool reached_ = false;
};

class IdleMode final : public Mode {
 public:
  IdleMode(const Options& options, SessionSetting& setting)
      : Mode(options, setting), answered_(options.connections) {}

  void start() override;
  bool finished() const override { return failed_ || input_.reached(); }
  std::vector<ReportField> fields() const override;

  void opened(Session& session) override;
  void ended(Session& session, const Exchange& exchange, const Outcome& outcome) override;
  void closed(Session& session, ErrorKind error) override;

 private:
  void settle();

  InputEnd input_;
  std::vector<bool> answered_;  // by the session's index
  std::size_t settled_ = 0;     // connections answered or failed
  std::size_t held_ = 0;
  bool failed_ = false;  // before all were ready
};

void IdleMode::start() {
  tally_.start();
  open_sessions(std::min<std::size_t>(options_.connections, opening_at_once));
}

void IdleMode::opened(Session& session) {
  ++held_;
  session.submit(
      {.number = session.index(), .intended_ns = session.now_ns(), .sent_ns = session.now_ns()});
}

void IdleMode::ended(Session& session, const Exchange& exchange, const Outcome& outcome) {
  if (count(outcome)) {
    tally_.latency.record(to_us(session.now_ns() - exchange.sent_ns));
    answered_[session.index()] = true;
  }
  settle();
}

void IdleMode::settle() {
  ++settled_;
  if (settled_ < options_.connections) {
    open_sessions(std::min<std::size_t>(options_.connections, settled_ + opening_at_once));
    return;
  }
  tally_.stop();
  failed_ = tally_.errors.total() > 0;
  if (failed_) return;
  std::fputs("ready\n", stdout);
  std::fflush(stdout);
  input_.wait(setting_.loop);
}

void IdleMode::closed(Session& session, ErrorKind error) {
  if (session.has_opened()) --held_;
  if (error != ErrorKind::none) {
    tally_.errors.add(error);
  } else if (answered_[session.index()]) {
    tally_.errors.add(ErrorKind::closed);  // otherwise its request has reported the error
  }
  if (!session.has_opened()) settle();
}

std::vector<ReportField> IdleMode::fields() const { return {{"held", fmt::format("{}", held_)}}; }

}  // namespace

std::unique_ptr<Mode> make_idle(const Options& options, SessionSetting& setting) {
  return std::make_unique<IdleMode>(options, setting);
}

}  // namespace h2server::lab::load
