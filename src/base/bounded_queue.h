// BoundedQueue: a circular buffer between any number of producing and consuming threads.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>

#include "base/assert.h"

namespace h2server::base {

template <class T>
class BoundedQueue {
 public:
  explicit BoundedQueue(std::size_t capacity)
      : capacity_(capacity), slots_(std::make_unique<T[]>(capacity)) {
    ASSERT(capacity > 0);
  }

  // Returns false and leaves `item` unchanged if the queue is full or closed.
  [[nodiscard]] bool try_push(T& item) {
    std::unique_lock lock(mutex_);
    if (closed_ || count_ == capacity_) return false;
    put(item, lock);
    return true;
  }

  // Waits for room. Returns false and leaves `item` unchanged if the queue is closed.
  [[nodiscard]] bool push(T& item) {
    std::unique_lock lock(mutex_);
    room_.wait(lock, [this] { return closed_ || count_ < capacity_; });
    if (closed_) return false;
    put(item, lock);
    return true;
  }

  // Waits for an item. Returns nullopt if the queue is closed.
  [[nodiscard]] std::optional<T> pop() {
    std::unique_lock lock(mutex_);
    items_.wait(lock, [this] { return closed_ || count_ > 0; });
    if (closed_) return std::nullopt;
    std::optional<T> item(std::move(slots_[first_]));
    first_ = (first_ + 1) % capacity_;
    --count_;
    lock.unlock();
    room_.notify_one();
    return item;
  }

  // Ends all waits and drops the remaining items.
  void close() {
    {
      const std::lock_guard lock(mutex_);
      closed_ = true;
      for (; count_ > 0; --count_) slots_[(first_ + count_ - 1) % capacity_] = T();
    }
    room_.notify_all();
    items_.notify_all();
  }

  [[nodiscard]] bool closed() const {
    const std::lock_guard lock(mutex_);
    return closed_;
  }
  [[nodiscard]] std::size_t size() const {
    const std::lock_guard lock(mutex_);
    return count_;
  }

 private:
  void put(T& item, std::unique_lock<std::mutex>& lock) {
    slots_[(first_ + count_) % capacity_] = std::move(item);
    ++count_;
    lock.unlock();
    items_.notify_one();
  }

  const std::size_t capacity_;
  const std::unique_ptr<T[]> slots_;
  mutable std::mutex mutex_;  // guards all members below
  std::condition_variable room_;
  std::condition_variable items_;
  std::size_t first_ = 0;
  std::size_t count_ = 0;
  bool closed_ = false;
};

}  // namespace h2server::base
