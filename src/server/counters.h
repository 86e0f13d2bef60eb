// Counters of the load of a worker, and their text for the operator.
#pragma once

#include <fmt/format.h>

#include <string>

#include "base/counter.h"
#include "http/message.h"
#include "http/worker_context.h"
#include "io/turn_times.h"

namespace h2server::server {

// Written by the worker's thread, read by any. On a cache line of its own.
struct alignas(64) WorkerCounters {
  base::Counter accepted;     // connections since the start
  base::Counter connections;  // open connections
  base::Counter streams;      // open HTTP/2 streams
  base::Counter requests;     // that have ended, if somebody observes
  http::LastRoute last_route;
  io::TurnTimes turns;  // of its event loop
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
  const std::string* const pattern = counters.last_route.pattern.load();
  if (pattern == nullptr) return "it has had no request";
  return fmt::format("its last request was for {} {}",
                     http::method_name(counters.last_route.method.load()), *pattern);
}

// "worker 1: 12 connections, 345 accepted, 7 streams"
inline std::string line_of_worker(std::size_t number, const WorkerCounters& counters) {
  return fmt::format("worker {}: {} connections, {} accepted, {} streams", number,
                     counters.connections.get(), counters.accepted.get(), counters.streams.get());
}

}  // namespace h2server::server
