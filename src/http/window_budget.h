// WindowBudget: how far the receive windows of all connections of a server may grow beyond their
// initial sizes, and so how much data can wait for handlers that stopped reading. Any thread.
//
// Half of it is for growth in advance, before a client has shown that it sends: connections that
// ask for much and stall exhaust that half only. No caller takes more than a share of what is left,
// so grants become smaller as the budget is used, and many still get a little after a few got much.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>

#include "base/memory/memory_budget.h"

namespace h2server::http {

class WindowBudget {
 public:
  explicit WindowBudget(std::int64_t bytes) noexcept : total_(bytes), left_(bytes) {}

  // Takes up to `bytes`, at most an eighth of what is left. Returns how many.
  [[nodiscard]] std::uint32_t take(std::uint32_t bytes) noexcept { return take_share(bytes, 8, 0); }
  // Takes up to `bytes` in advance, at most half of what is left of the half for that.
  [[nodiscard]] std::uint32_t take_ahead(std::uint32_t bytes) noexcept {
    return take_share(bytes, 2, total_ / 2);
  }
  void give_back(std::uint32_t bytes) noexcept {
    left_.fetch_add(bytes, std::memory_order_relaxed);
  }
  // Refills it. No connection may hold a part of it, and no other thread may use it.
  void reset(std::int64_t bytes) noexcept {
    total_ = bytes;
    left_.store(bytes, std::memory_order_relaxed);
  }

  [[nodiscard]] std::int64_t left() const noexcept { return left_.load(std::memory_order_relaxed); }
  // What connections hold.
  [[nodiscard]] std::int64_t taken() const noexcept { return total_ - left(); }

 private:
  // Takes at most the `parts`-th part of what is left above `kept`, and nothing while memory is
  // tight.
  std::uint32_t take_share(std::uint32_t bytes, std::int64_t parts, std::int64_t kept) noexcept {
    if (base::MemoryBudget::of_process().tight()) return 0;
    std::int64_t left = left_.load(std::memory_order_relaxed);
    std::int64_t taken = 0;
    do {
      taken = std::clamp<std::int64_t>((left - kept) / parts, 0, bytes);
    } while (taken > 0 &&
             !left_.compare_exchange_weak(left, left - taken, std::memory_order_relaxed));
    return static_cast<std::uint32_t>(taken);
  }

  std::int64_t total_;
  std::atomic<std::int64_t> left_;
};

}  // namespace h2server::http
