#include "load/loop.h"

#include <sys/epoll.h>
#include <sys/prctl.h>

#include <algorithm>
#include <array>
#include <cerrno>

#include "base/assert.h"
#include "load/clock.h"

namespace h2server::lab::load {

namespace {

// Wake-up latency of the kernel on a virtual machine. Sleeps end earlier by this much.
constexpr std::int64_t wake_ns = 50 * ns_per_us;
constexpr int events_max = 64;
constexpr int events_precise = 8;  // turns of some µs each; bounds the delay of the next arrival

}  // namespace

Result<Loop> Loop::open() {
  Loop made;
  made.epoll_ = base::Fd(::epoll_create1(EPOLL_CLOEXEC));
  if (!made.epoll_.valid()) return std::unexpected(Error{errno, "epoll_create1"});
  // Without this the kernel adds up to 50 µs to each wait. If it fails, `precise` spins longer.
  ::prctl(PR_SET_TIMERSLACK, 1);
  return made;
}

Result<void> Loop::add(int descriptor, Handler& handler) noexcept {
  epoll_event event{};
  event.events = EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET;
  event.data.ptr = &handler;
  if (::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, descriptor, &event) != 0) {
    return std::unexpected(Error{errno, "epoll_ctl"});
  }
  return {};
}

void Loop::run_later() {
  // Handlers that ask again during their turn run in the next round, after the others.
  running_.swap(later_);
  for (Handler* const handler : running_) handler->turn(0);
  running_.clear();
}

void Loop::wait(std::int64_t until_ns, bool precise) {
  std::int64_t sleep_ns = later_.empty() ? std::max<std::int64_t>(0, until_ns - now_ns()) : 0;
  if (precise) sleep_ns = std::max<std::int64_t>(0, sleep_ns - wake_ns);
  const timespec timeout{.tv_sec = sleep_ns / ns_per_s, .tv_nsec = sleep_ns % ns_per_s};
  std::array<epoll_event, events_max> events;
  const int count = ::epoll_pwait2(epoll_.get(), events.data(),
                                   precise ? events_precise : events_max, &timeout, nullptr);
  if (count < 0) {
    ASSERT(errno == EINTR);  // the arguments are valid; Linux has this call since 5.11
    return;
  }
  for (int i = 0; i < count; ++i) {
    const epoll_event& event = events[static_cast<std::size_t>(i)];
    static_cast<Handler*>(event.data.ptr)->turn(event.events);
  }
}

}  // namespace h2server::lab::load
