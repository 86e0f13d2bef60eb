#include "load/mode.h"

#include <algorithm>

#include "load/clock.h"

namespace h2server::lab::load {

void Mode::sweep(std::int64_t now_ns) {
  for (Session& session : sessions_) session.check_time(now_ns);
}

void Mode::open_sessions(std::size_t count) {
  while (sessions_.size() < count) {
    sessions_.emplace_back(setting_, *this, sessions_.size()).open();
  }
}

bool Mode::count(const Outcome& outcome) {
  tally_.body_bytes_in += outcome.body_bytes_in;
  tally_.body_bytes_out += outcome.body_bytes_out;
  if (outcome.error != ErrorKind::none) {
    tally_.errors.add(outcome.error);
    return false;
  }
  ++tally_.answered;
  return true;
}

void run(Mode& mode, Loop& loop, std::int64_t timeout_ns) {
  const std::int64_t sweep_every_ns = std::clamp(timeout_ns / 4, 10 * ns_per_ms, 250 * ns_per_ms);
  std::int64_t next_sweep_ns = now_ns() + sweep_every_ns;
  mode.start();
  while (!mode.finished()) {
    const std::int64_t now = now_ns();
    if (now >= next_sweep_ns) {
      mode.sweep(now);
      next_sweep_ns = now + sweep_every_ns;
    }
    mode.tick(now);
    loop.run_later();
    if (mode.finished()) break;
    const std::int64_t due_ns = mode.next_tick_ns();
    loop.wait(std::min(due_ns, next_sweep_ns), mode.precise() && due_ns < next_sweep_ns);
  }
}

}  // namespace h2server::lab::load
