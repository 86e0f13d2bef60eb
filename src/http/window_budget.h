// What the receive windows of all connections of a process may have beyond what each begins with:
// so much may be waiting for handlers that have stopped reading. Any thread.
#pragma once

#include <atomic>
#include <cstdint>

namespace h2server::http {

class WindowBudget {
 public:
  explicit WindowBudget(std::int64_t bytes) noexcept : left_(bytes) {}

  // False: that is more than an eighth of what is left, and nothing was taken. So nobody takes it
  // all, and many still get a little when few have got much.
  [[nodiscard]] bool take(std::uint32_t bytes) noexcept {
    std::int64_t left = left_.load(std::memory_order_relaxed);
    do {
      if (bytes > left / 8) return false;
    } while (!left_.compare_exchange_weak(left, left - bytes, std::memory_order_relaxed));
    return true;
  }
  void give_back(std::uint32_t bytes) noexcept {
    left_.fetch_add(bytes, std::memory_order_relaxed);
  }

 private:
  std::atomic<std::int64_t> left_;
};

}  // namespace h2server::http
