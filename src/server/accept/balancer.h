// Balancer: chooses the worker for a new connection.
//
// The descriptor modulo the table's size selects an entry of the indirection table, which names a
// worker. The connection goes to that worker, and the entry is rewritten in two cases:
// - The worker's queue is full: to the next worker in turn whose queue is not.
// - The worker has clearly more live connections than the least loaded one: to the latter. The
//   table alone spreads arrivals, not load, since connections live for different times.
// Only the acceptor's thread uses it. Any thread may read the counters.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>

#include "base/assert.h"
#include "base/counter.h"

namespace h2server::server {

class Balancer {
 public:
  static constexpr std::size_t entries = 256;
  // Beyond a quarter and these more connections than the least loaded worker, a worker's load is
  // clearly greater.
  static constexpr std::uint64_t slack = 16;

  explicit Balancer(unsigned workers) : workers_(workers) {
    ASSERT(workers > 0);
    for (std::size_t i = 0; i < entries; ++i) table_[i] = static_cast<unsigned>(i % workers);
  }

  // `load(worker)` returns its live connections. `offer(worker)` hands the connection over, or
  // returns false if that worker's queue is full. Returns nullopt if all queues are full.
  template <class Load, class Offer>
  std::optional<unsigned> place(int descriptor, Load load, Offer offer) {
    unsigned& entry = table_[static_cast<std::size_t>(descriptor) % entries];
    find_least(load);
    const bool overloaded = load(entry) > least_load_ + least_load_ / 4 + slack;
    if (overloaded && offer(least_)) {
      ++least_load_;
      entry = least_;
      rewrites_.up();
      return entry;
    }
    if (offer(entry)) {
      hits_.up();
      return entry;
    }
    for (unsigned tried = 0; tried < workers_; ++tried) {
      const unsigned candidate = next_;
      next_ = (next_ + 1) % workers_;
      if (candidate == entry || !offer(candidate)) continue;
      entry = candidate;
      rewrites_.up();
      return candidate;
    }
    full_.up();
    return std::nullopt;
  }

  [[nodiscard]] unsigned entry(std::size_t index) const { return table_.at(index); }
  [[nodiscard]] std::uint64_t hits() const noexcept { return hits_.get(); }
  [[nodiscard]] std::uint64_t rewrites() const noexcept { return rewrites_.get(); }
  [[nodiscard]] std::uint64_t full() const noexcept { return full_.get(); }

 private:
  // Looks at all workers, but only once in as many connections as there are workers: the counters
  // are on cache lines that other processors write.
  template <class Load>
  void find_least(Load load) {
    if (until_search_-- > 0) return;
    until_search_ = workers_ - 1;
    least_load_ = std::numeric_limits<std::uint64_t>::max();
    for (unsigned worker = 0; worker < workers_; ++worker) {
      const std::uint64_t own = load(worker);
      if (own >= least_load_) continue;
      least_load_ = own;
      least_ = worker;
    }
  }

  const unsigned workers_;
  std::array<unsigned, entries> table_;
  unsigned next_ = 0;
  unsigned until_search_ = 0;
  unsigned least_ = 0;  // the least loaded worker at the last search
  std::uint64_t least_load_ = 0;
  base::Counter hits_;
  base::Counter rewrites_;
  base::Counter full_;
};

}  // namespace h2server::server
