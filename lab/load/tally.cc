#include "load/tally.h"

#include <sys/resource.h>

#include "load/clock.h"

namespace h2server::lab::load {

namespace {

double cpu_seconds_so_far() noexcept {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);  // cannot fail for RUSAGE_SELF
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / 1e6;
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

}  // namespace

void Tally::start() noexcept {
  started_ns_ = now_ns();
  cpu_at_start_ = cpu_seconds_so_far();
  running_ = true;
}

void Tally::stop() noexcept {
  if (!running_) return;
  running_ = false;
  seconds = static_cast<double>(now_ns() - started_ns_) / static_cast<double>(ns_per_s);
  cpu_seconds = cpu_seconds_so_far() - cpu_at_start_;
}

}  // namespace h2server::lab::load
