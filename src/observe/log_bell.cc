#include "observe/log_bell.h"

#include <sys/eventfd.h>
#include <unistd.h>

#include <cerrno>

namespace h2server::observe {

Result<void> LogBell::open() {
  event_ = base::Fd(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!event_.valid()) return std::unexpected(Error{errno, "cannot make an event for the log"});
  return {};
}

void LogBell::ring() noexcept {
  if (sleep_.exchange(Sleep::none) == Sleep::none) return;
  const std::uint64_t one = 1;
  // EAGAIN would mean that the event is set already. There is no other error.
  [[maybe_unused]] const ssize_t written = ::write(event_.get(), &one, sizeof one);
}

void LogBell::rise() noexcept {
  sleep_.store(Sleep::none);
  std::uint64_t rung = 0;
  // EAGAIN: the timeout has ended the sleep.
  [[maybe_unused]] const ssize_t read = ::read(event_.get(), &rung, sizeof rung);
}

}  // namespace h2server::observe
