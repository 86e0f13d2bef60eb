// For tests of threads: counts events, and waits for them.
#pragma once

#include <condition_variable>
#include <mutex>

namespace h2server::tests {

class Events {
 public:
  void add() {
    const std::lock_guard lock(mutex_);
    ++count_;
    changed_.notify_all();
  }
  void wait_for(unsigned count) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this, count] { return count_ >= count; });
  }
  unsigned count() {
    const std::lock_guard lock(mutex_);
    return count_;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  unsigned count_ = 0;
};

}  // namespace h2server::tests
