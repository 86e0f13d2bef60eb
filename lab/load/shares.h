// Distribution of N requests over connections: one common pool, or a share per connection by
// weights (8,1,1,1: every fourth connection gets eight times the requests of each other).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace h2server::lab::load {

class Shares {
 public:
  // Without weights all share one pool. Connection i has weights[i mod n]. The sum is `requests`.
  Shares(std::uint64_t requests, std::size_t connections, std::span<const unsigned> weights);

  // Takes one request for the connection. Returns false if none is left for it.
  [[nodiscard]] bool take(std::size_t connection) noexcept;
  [[nodiscard]] std::uint64_t left(std::size_t connection) const noexcept;
  // Drops and counts the remaining requests of the connection. Drops a pool as a whole.
  [[nodiscard]] std::uint64_t drop(std::size_t connection) noexcept;
  [[nodiscard]] bool pooled() const noexcept { return left_.size() == 1; }

 private:
  [[nodiscard]] std::size_t place(std::size_t connection) const noexcept {
    return pooled() ? 0 : connection;
  }
  std::vector<std::uint64_t> left_;
};

}  // namespace h2server::lab::load
