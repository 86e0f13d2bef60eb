// WindowBudget: how far the receive windows of all connections of a server may grow beyond their
// initial sizes, and so how much data can wait for handlers that stopped reading. Any thread.
#pragma once

#include <atomic>
#include <cstdint>

namespace h2server::http {

class WindowBudget {
 public:
  explicit WindowBudget(std::int64_t bytes) noexcept : left_(bytes) {}

  // Returns false and takes nothing if `bytes` is more than an eighth of what is left. So no caller
  // takes everything, and many still get a little after a few got much.
  [[nodiscard]] bool take(std::uint32_t bytes) noexcept {
    std::int64_t left = left_.load(std::memory_order_relaxed);
    do {
      if (bytes > left / 8) return false;
    } while (!left_.compare_exchange_weak(left, left - bytes, std::memory_order_relaxed));
    return true;
  }
  // Refills it. No connection may hold a part of it.
  void reset(std::int64_t bytes) noexcept { left_.store(bytes, std::memory_order_relaxed); }
  void give_back(std::uint32_t bytes) noexcept {
    left_.fetch_add(bytes, std::memory_order_relaxed);
  }

 private:
  std::atomic<std::int64_t> left_;
};

}  // namespace h2server::http
