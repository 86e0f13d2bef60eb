#include "io/polled_loop.h"

#include <sys/epoll.h>
#include <sys/timerfd.h>

#include <cerrno>
#include <utility>

#include "base/assert.h"

namespace h2server::io {

Result<PolledLoop> PolledLoop::open() {
  Result<std::unique_ptr<EpollEngine>> engine = EpollEngine::open();
  if (!engine) return std::unexpected(engine.error());
  base::Fd epoll(::epoll_create1(EPOLL_CLOEXEC));
  if (!epoll.valid()) return std::unexpected(Error{errno, "epoll_create1"});
  base::Fd timer(::timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK));
  if (!timer.valid()) return std::unexpected(Error{errno, "timerfd_create"});
  for (const int descriptor : {(*engine)->descriptor(), timer.get()}) {
    epoll_event event{.events = EPOLLIN, .data = {.fd = descriptor}};
    if (::epoll_ctl(epoll.get(), EPOLL_CTL_ADD, descriptor, &event) != 0)
      return std::unexpected(Error{errno, "epoll_ctl"});
  }
  return PolledLoop(*std::move(engine), std::move(epoll), std::move(timer));
}

void PolledLoop::turn() {
  Engine* const before = Engine::current();
  Engine::set_current(engine_.get());
  const int ms = engine_->turn();
  Engine::set_current(before);
  // The new setting makes a timer that has expired unreadable. 0 ms would disarm it.
  itimerspec time{};
  if (ms >= 0) {
    time.it_value = {.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1'000'000L + 1};
  }
  // Fails for invalid arguments only.
  ASSERT(::timerfd_settime(timer_.get(), 0, &time, nullptr) == 0);
}

}  // namespace h2server::io
