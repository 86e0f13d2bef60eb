// Event loop: edge-triggered epoll, so that a connection needs one epoll_ctl() call.
//
// One thread. A descriptor is added once; closing it removes it. A handler closes and replaces its
// descriptor only in its own turn, so it never gets an event of an old one.
#pragma once

#include <cstdint>
#include <vector>

#include "base/fd.h"
#include "h2server/result.h"

namespace h2server::lab::load {

class Handler {
 public:
  // `events` are epoll's, or 0 if the handler requested the turn by later().
  virtual void turn(std::uint32_t events) = 0;

 protected:
  ~Handler() = default;
};

class Loop {
 public:
  static Result<Loop> open();

  [[nodiscard]] Result<void> add(int descriptor, Handler& handler) noexcept;
  // Requests a turn before the next wait. Must not be called twice for one turn.
  void later(Handler& handler) { later_.push_back(&handler); }
  void run_later();

  // Waits until `until_ns` (clock.h) for events and gives their handlers a turn. With `precise`,
  // returns on time: it handles few events per call, and the caller polls at the end.
  void wait(std::int64_t until_ns, bool precise);

 private:
  base::Fd epoll_;
  std::vector<Handler*> later_;
  std::vector<Handler*> running_;  // used by run_later(); keeps its memory
};

}  // namespace h2server::lab::load
