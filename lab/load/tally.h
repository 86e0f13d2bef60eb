// Results of a run: counts, latencies, duration and processor time.
//
// Used by one thread.
#pragma once

#include <cstdint>

#include "load/errors.h"
#include "load/histogram.h"

namespace h2server::lab::load {

struct Tally {
  std::uint64_t answered = 0;  // as expected; all others are in `errors`
  ErrorCounts errors;
  Histogram latency;
  std::uint64_t body_bytes_in = 0;
  std::uint64_t body_bytes_out = 0;
  std::uint64_t bytes_in = 0;  // on the wire above TCP, of all connections, including the warm-up
  std::uint64_t bytes_out = 0;
  double seconds = 0;      // between start() and stop()
  double cpu_seconds = 0;  // our own, user and system

  void start() noexcept;
  // Only the first call after start() has an effect.
  void stop() noexcept;

  [[nodiscard]] std::int64_t started_ns() const noexcept { return started_ns_; }

 private:
  std::int64_t started_ns_ = 0;
  double cpu_at_start_ = 0;
  bool running_ = false;
};

}  // namespace h2server::lab::load
