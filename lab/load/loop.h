// The wait for sockets: epoll, edge-triggered, so that a connection costs one epoll_ctl in its
// life.
//
// One thread. Handlers are added once for each descriptor; closing that takes them out. A handler
// closes and replaces its descriptor in its own turn only, so no event of an old one reaches it.
#pragma once

#include <cstdint>
#include <vector>

#include "base/fd.h"
#include "h2server/result.h"

namespace h2server::lab::load {

class Handler {
 public:
  // `events`: epoll's; 0 when the handler asked for the turn by later().
  virtual void turn(std::uint32_t events) = 0;

 protected:
  ~Handler() = default;
};

class Loop {
 public:
  static Result<Loop> open();

  [[nodiscard]] Result<void> add(int descriptor, Handler& handler) noexcept;
  // A turn before the next wait; the handler asks once.
  void later(Handler& handler) { later_.push_back(&handler); }
  void run_later();

  // Turns for those who have events; waits for the first until `until_ns` (clock.h). `precise`:
  // comes back on time, by asking again and again in the last microseconds, and after few turns.
  void wait(std::int64_t until_ns, bool precise);

 private:
  base::Fd epoll_;
  std::vector<Handler*> later_;
  std::vector<Handler*> running_;  // of run_later(), kept for its memory
};

}  // namespace h2server::lab::load
