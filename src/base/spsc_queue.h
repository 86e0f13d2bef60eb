// SpscQueue: a bounded lock-free queue between one producing and one consuming thread.
//
// Each side keeps a copy of the other's index and reads the shared one only if the copy says full
// or empty, so a busy queue moves at most one cache line per item.
#pragma once

#include <atomic>
#include <bit>
#include <cstddef>
#include <memory>
#include <optional>
#include <utility>

#include "base/assert.h"

namespace h2server::base {

template <class T>
class SpscQueue {
 public:
  // `capacity` must be a power of two.
  explicit SpscQueue(std::size_t capacity)
      : mask_(capacity - 1), slots_(std::make_unique<T[]>(capacity)) {
    ASSERT(std::has_single_bit(capacity));
  }

  // Producer only. Returns false and leaves `item` unchanged if the queue is full.
  [[nodiscard]] bool try_push(T& item) {
    const std::size_t tail = tail_.load(std::memory_order_relaxed);
    if (tail - head_seen_ > mask_) {
      head_seen_ = head_.load(std::memory_order_acquire);
      if (tail - head_seen_ > mask_) return false;
    }
    slots_[tail & mask_] = std::move(item);
    tail_.store(tail + 1, std::memory_order_release);
    return true;
  }

  // Consumer only. Returns nullopt if the queue is empty.
  [[nodiscard]] std::optional<T> try_pop() {
    const std::size_t head = head_.load(std::memory_order_relaxed);
    if (head == tail_seen_) {
      tail_seen_ = tail_.load(std::memory_order_acquire);
      if (head == tail_seen_) return std::nullopt;
    }
    std::optional<T> item(std::move(slots_[head & mask_]));
    head_.store(head + 1, std::memory_order_release);
    return item;
  }

  // Any thread. The result may be out of date when it returns.
  [[nodiscard]] std::size_t size() const noexcept {
    const std::size_t head = head_.load(std::memory_order_acquire);
    return tail_.load(std::memory_order_acquire) - head;
  }

 private:
  static constexpr std::size_t line = 64;  // std::hardware_destructive_interference_size on x86-64

  const std::size_t mask_;
  const std::unique_ptr<T[]> slots_;
  alignas(line) std::atomic<std::size_t> head_{0};  // written by the consumer
  std::size_t tail_seen_ = 0;
  alignas(line) std::atomic<std::size_t> tail_{0};  // written by the producer
  std::size_t head_seen_ = 0;
};

}  // namespace h2server::base
