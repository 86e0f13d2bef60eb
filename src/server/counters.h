// Counters of the load of a worker, and their text for the operator.
#pragma once

#include <fmt/format.h>

#include <atomic>
#include <string>

#include "base/counter.h"

namespace h2server::server {

// Written by the worker's thread, read by any. On a cache line of its own.
struct alignas(64) WorkerCounters {
  base::Counter accepted;     // connections since the start
  base::Counter connections;  // open connections
  base::Counter streams;      // open HTTP/2 streams
  base::Counter turns;        // of its event loop
  base::Counter requests;     // that have ended, if somebody observes
  // The pattern of the last request's route; null if there was none.
  std::atomic<const std::string*> last_route{nullptr};
};

struct WorkerTotals {
  std::uint64_t accepted = 0;
  std::uint64_t connections = 0;
  std::uint64_t streams = 0;

  WorkerTotals& operator+=(const WorkerCounters& counters) noexcept {
    accepted += counters.accepted.get();
    connections += counters.connections.get();
    streams += counters.streams.get();
    return *this;
  }
};

// Describes what a thread that does not end may be doing.
inline std::string describe_last_route(const WorkerCounters& counters) {
  const std::string* const route = counters.last_route.load();
  return route == nullptr ? "it has had no request"
                          : fmt::format("its last request was for {}", *route);
}

// "worker 1: 12 connections, 345 accepted, 7 streams"
inline std::string line_of_worker(std::size_t number, const WorkerCounters& counters) {
  return fmt::format("worker {}: {} connections, {} accepted, {} streams", number,
                     counters.connections.get(), counters.accepted.get(), counters.streams.get());
}

}  // namespace h2server::server
