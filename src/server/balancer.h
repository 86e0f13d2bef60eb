// Balancer: which worker gets a new connection.
//
// The descriptor modulo the table's size indexes the indirection table, which names a worker. While
// that worker's queue has room the connection goes there; when it is full, the next worker in turn
// with room gets it, and the entry names that worker from then on. Used by the acceptor's thread
// alone; the counters may be read by others.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "base/assert.h"
#include "base/counter.h"

namespace h2server::server {

class Balancer {
 public:
  static constexpr std::size_t entries = 256;

  explicit Balancer(unsigned workers) : workers_(workers) {
    ASSERT(workers > 0);
    for (std::size_t i = 0; i < entries; ++i) table_[i] = static_cast<unsigned>(i % workers);
  }

  // `offer(worker)` hands the connection over, false when that worker's queue is full. Nullopt: all
  // are full.
  template <class Offer>
  std::optional<unsigned> place(int descriptor, Offer offer) {
    unsigned& entry = table_[static_cast<std::size_t>(descriptor) % entries];
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
  const unsigned workers_;
  std::array<unsigned, entries> table_;
  unsigned next_ = 0;
  base::Counter hits_;
  base::Counter rewrites_;
  base::Counter full_;
};

}  // namespace h2server::server
