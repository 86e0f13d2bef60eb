// Counter: a number with one writing thread at a time. Any thread, or process that shares its
// memory, may read it.
#pragma once

#include <atomic>
#include <cstdint>

namespace h2server::base {

class Counter {
 public:
  // There is one writer, so no locked instruction is needed.
  void set(std::uint64_t value) noexcept { value_.store(value, std::memory_order_relaxed); }
  void up() noexcept { set(get() + 1); }
  void down() noexcept { set(get() - 1); }

  [[nodiscard]] std::uint64_t get() const noexcept {
    return value_.load(std::memory_order_relaxed);
  }

 private:
  std::atomic<std::uint64_t> value_{0};
};

// Raises a counter by one during its lifetime.
class Counted {
 public:
  explicit Counted(Counter& counter) noexcept : counter_(counter) { counter_.up(); }
  Counted(const Counted&) = delete;
  Counted& operator=(const Counted&) = delete;
  ~Counted() { counter_.down(); }

 private:
  Counter& counter_;
};

}  // namespace h2server::base
