// Who sends how many of N requests: all connections take from one heap, or each has a share of its
// own by weights (8,1,1,1: every fourth connection has eight times the work of the others).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace h2server::lab::load {

class Shares {
 public:
  // No weights: one heap. Connection i has weights[i mod n]; the shares add up to `requests`.
  Shares(std::uint64_t requests, std::size_t connections, std::span<const unsigned> weights);

  // Takes one request for that connection; false when none is left for it.
  [[nodiscard]] bool take(std::size_t connection) noexcept;
  [[nodiscard]] std::uint64_t left(std::size_t connection) const noexcept;
  // Gives up what is left for that connection: its number. One heap is given up as a whole.
  [[nodiscard]] std::uint64_t drop(std::size_t connection) noexcept;
  [[nodiscard]] bool pooled() const noexcept { return left_.size() == 1; }

 private:
  [[nodiscard]] std::size_t place(std::size_t connection) const noexcept {
    return pooled() ? 0 : connection;
  }
  std::vector<std::uint64_t> left_;
};

}  // namespace h2server::lab::load
