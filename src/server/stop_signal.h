// StopSignal: asks any number of threads, and of processes that were forked, to stop: first to
// drain, then to cancel what still runs.
//
// Each of the two is a pair of sockets. One end is shut down to ask; the other becomes readable
// then, for whoever polls it, and stays so. The death of the process that may ask asks to drain.
#pragma once

#include <array>

#include "base/fd.h"
#include "h2server/result.h"
#include "io/blocking_engine.h"

namespace h2server::server {

class StopSignal {
 public:
  static Result<StopSignal> open();

  // The first call asks to drain, the second to cancel. One thread at a time.
  void ask() noexcept;
  // What becomes readable. Closed with this object, in each process for itself.
  [[nodiscard]] io::Interrupts interrupts() const noexcept {
    return {.drain = heard_[0].get(), .cancel = heard_[1].get()};
  }
  // For a process that was forked: it hears only. That it keeps the end by which to cancel is what
  // makes the death of the other ask for no more than to drain.
  void give_up_asking() noexcept { asking_[0].close(); }

 private:
  std::array<base::Fd, 2> asking_;
  std::array<base::Fd, 2> heard_;
  unsigned asked_ = 0;
};

}  // namespace h2server::server
