#include "load/shares.h"

#include <utility>

#include "base/assert.h"

namespace h2server::lab::load {

Shares::Shares(std::uint64_t requests, std::size_t connections, std::span<const unsigned> weights) {
  if (weights.empty()) {
    left_.push_back(requests);
    return;
  }
  unsigned long long all = 0;
  for (std::size_t i = 0; i < connections; ++i) all += weights[i % weights.size()];
  ASSERT(all > 0);
  // The share of i is the rounded total of the first i + 1 minus that of the first i, so no request
  // is lost to rounding.
  unsigned long long before = 0;
  std::uint64_t given = 0;
  for (std::size_t i = 0; i < connections; ++i) {
    before += weights[i % weights.size()];
    const auto until = static_cast<std::uint64_t>(static_cast<long double>(requests) *
                                                  static_cast<long double>(before) /
                                                  static_cast<long double>(all));
    left_.push_back(until - given);
    given = until;
  }
  left_.back() += requests - given;
}

bool Shares::take(std::size_t connection) noexcept {
  std::uint64_t& left = left_[place(connection)];
  if (left == 0) return false;
  --left;
  return true;
}

std::uint64_t Shares::left(std::size_t connection) const noexcept {
  return left_[place(connection)];
}

std::uint64_t Shares::drop(std::size_t connection) noexcept {
  return std::exchange(left_[place(connection)], 0);
}

}  // namespace h2server::lab::load
