// The waits of handlers that need a worker: for a time, and for a thread that makes a blocking
// call.
#include <cerrno>
#include <stdexcept>

#include "base/timer_wheel.h"
#include "h2server/blocking.h"
#include "h2server/own_stop.h"
#include "h2server/timing.h"
#include "io/engine.h"
#include "io/mailbox.h"
#include "server/worker_services.h"

namespace h2server {

namespace {

// Ends an operation early.
class CancelOnStop final : private coro::StopHook {
 public:
  CancelOnStop(io::Op& op, coro::StopState* stop) : op_(op) {
    if (stop != nullptr) hook(*stop);
  }

 private:
  void on_stop(StopReason) noexcept override { op_.cancel(); }
  io::Op& op_;
};

Task<Result<void>> sleep_on(io::Engine& engine, std::chrono::milliseconds time) {
  coro::StopState* const stop = co_await coro::OwnStop();
  bool slept = stop == nullptr || !stop->stopped();
  if (slept && time.count() > 0) {
    io::SleepOp sleep(engine, io::deadline_ms(time));
    const CancelOnStop cancels(sleep, stop);
    slept = co_await sleep;
  }
  if (!slept) co_return std::unexpected(Error{ECANCELED, "sleep"});
  co_return {};
}

}  // namespace

Task<Result<void>> sleep_for(std::chrono::milliseconds time) {
  io::Engine* const engine = io::Engine::current();
  if (engine == nullptr) throw std::logic_error("sleep_for() is called outside of a handler");
  // Without descriptors for a loop, a blocking engine sleeps itself.
  io::Engine* const loop = engine->loop();
  return sleep_on(loop != nullptr ? *loop : *engine, time);
}

Task<Result<void>> sleep_until(std::chrono::steady_clock::time_point time) {
  const auto left = time - std::chrono::steady_clock::now();
  return sleep_for(std::chrono::ceil<std::chrono::milliseconds>(left));
}

namespace coro {

struct StopTimer::Timer {
  io::Engine& engine;
  base::Timer timer;
};

StopTimer::StopTimer(std::chrono::milliseconds time, StopState& state)
    : timer_(std::make_unique<Timer>(io::own_loop())) {
  base::Timer& timer = timer_->timer;
  timer.owner = &state;
  timer.fire = [](base::Timer& fired) {
    static_cast<StopState*>(fired.owner)->stop(StopReason::deadline);
  };
  timer_->engine.arm_timer(timer, timer_->engine.now_ms() + io::deadline_ms(time));
}

StopTimer::~StopTimer() { timer_->engine.disarm_timer(timer_->timer); }

int BlockingJob::submit() noexcept {
  pool_ = &server::WorkerServices::of_this_thread()->blocking_calls();
  return pool_->submit(*this);
}

bool BlockingJob::withdraw() noexcept {
  if (pool_->withdraw(*this)) return true;
  ask_to_stop();
  return false;
}

}  // namespace coro

}  // namespace h2server
