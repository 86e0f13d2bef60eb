#include "h2server/stop.h"

namespace h2server::coro {

void StopHook::hook(StopState& state, bool quietly) noexcept {
  state_ = &state;
  next_ = nullptr;
  previous_ = state.last_;
  (previous_ == nullptr ? state.first_ : previous_->next_) = this;
  state.last_ = this;
  quiet_ = quietly;
  if (quietly) return;
  ++state.loud_hooks_;
  if (state.observer_ != nullptr) state.observer_->on_hook();
}

void StopHook::unhook() noexcept {
  if (state_ == nullptr) return;
  if (!quiet_) --state_->loud_hooks_;
  (previous_ != nullptr ? previous_->next_ : state_->first_) = next_;
  (next_ != nullptr ? next_->previous_ : state_->last_) = previous_;
  state_ = nullptr;
}

struct StopState::Run {
  explicit Run(StopState& running) noexcept : state(&running) {
#ifndef __clang__
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdangling-pointer"  // the destructor takes it back
#endif
    running.run_ = this;
#ifndef __clang__
#pragma GCC diagnostic pop
#endif
  }
  Run(const Run&) = delete;
  Run& operator=(const Run&) = delete;
  ~Run() {
    if (state != nullptr) state->run_ = nullptr;
  }

  StopState* state;  // null once that was destroyed or cleared
};

void StopState::stop(StopReason reason) noexcept {
  if (stopped()) return;
  reason_ = reason;
  Run run(*this);
  if (observer_ != nullptr) observer_->on_stop();
  while (run.state != nullptr && first_ != nullptr) {
    StopHook& hook = *first_;
    hook.unhook();
    hook.on_stop(reason);
  }
}

void StopState::clear() noexcept {
  while (first_ != nullptr) first_->unhook();
  reason_ = StopReason::none;
  observer_ = nullptr;
  client_ = 0;
  work_ = 0;
  // A hook ended what this state belonged to, inside stop().
  if (run_ != nullptr) std::exchange(run_, nullptr)->state = nullptr;
}

}  // namespace h2server::coro
