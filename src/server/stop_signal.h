// StopSignal: asks any number of threads and forked processes to drain, then to cancel what still
// runs.
//
// Drain and cancel are a socket pair each. Asking shuts one end down; the other end then becomes
// readable and stays so. The death of the asking process triggers a drain, see close_asking_end().
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
  // The ends that become readable. Closed with this object; each process closes its own copies.
  [[nodiscard]] io::Interrupts interrupts() const noexcept {
    return {.drain = listening_ends_[0].get(), .cancel = listening_ends_[1].get()};
  }
  // Called in a forked process, which only listens. It keeps the cancel end open, so that the
  // parent's death triggers a drain, not a cancel.
  void close_asking_end() noexcept { asking_ends_[0].close(); }

 private:
  std::array<base::Fd, 2> asking_ends_;
  std::array<base::Fd, 2> listening_ends_;
  unsigned asked_ = 0;
};

}  // namespace h2server::server
