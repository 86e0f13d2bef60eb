// PolledLoop: an engine for a thread that has another event loop, which watches one descriptor and
// calls turn() when that is readable.
#pragma once

#include <memory>

#include "base/fd.h"
#include "h2server/result.h"
#include "io/epoll_engine.h"

namespace h2server::io {

class PolledLoop {
 public:
  static Result<PolledLoop> open();

  [[nodiscard]] EpollEngine& engine() noexcept { return *engine_; }
  // Readable when turn() has something to do.
  [[nodiscard]] int descriptor() const noexcept { return epoll_.get(); }
  // Handles what is ready, as the thread's current engine. Does not wait.
  void turn();

 private:
  PolledLoop(std::unique_ptr<EpollEngine> engine, base::Fd epoll, base::Fd timer)
      : engine_(std::move(engine)), epoll_(std::move(epoll)), timer_(std::move(timer)) {}

  std::unique_ptr<EpollEngine> engine_;
  base::Fd epoll_;  // watches the engine's and timer_
  base::Fd timer_;  // for the engine's timers
};

}  // namespace h2server::io
