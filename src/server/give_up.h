// GiveUp: limits how long stopping a server waits for its threads. Any thread.
//
// A handler may never end, and a file operation may hang. At the drain limit, or at the second
// stop(), waiting operations are cancelled; threads that do not end shortly after are left behind.
#pragma once

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <mutex>

namespace h2server::server {

class GiveUp {
 public:
  using Clock = std::chrono::steady_clock;
  // Time for coroutines to end after ECANCELED, and for their destructors.
  static constexpr std::chrono::milliseconds unwinding{1000};

  // wait() gives up at `due`, or at the time of an earlier call if that is sooner.
  void at(Clock::time_point due) {
    const std::lock_guard lock(mutex_);
    due_ = std::min(due_, due);
    changed_.notify_all();
  }
  // Removes the limit, for another start.
  void reset() {
    const std::lock_guard lock(mutex_);
    due_ = Clock::time_point::max();
  }
  // Makes waiting threads check their conditions again.
  void notify() {
    const std::lock_guard lock(mutex_);
    changed_.notify_all();
  }
  // Waits until `ended()`. Returns false if it gave up. `ended` is called with the lock held.
  template <class Ended>
  [[nodiscard]] bool wait(Ended ended) {
    std::unique_lock lock(mutex_);
    for (;;) {
      if (ended()) return true;
      if (Clock::now() >= due_) return false;
      if (due_ == Clock::time_point::max()) {
        changed_.wait(lock);
      } else {
        changed_.wait_until(lock, due_);
      }
    }
  }
  // Returns true if at least `grace` has passed since the time to give up.
  [[nodiscard]] bool is_past(Clock::duration grace) {
    const std::lock_guard lock(mutex_);
    return due_ != Clock::time_point::max() && Clock::now() >= due_ + grace;
  }
  // As wait(), but for at most `time` instead of the limit of at().
  template <class Ended>
  bool wait_for(std::chrono::milliseconds time, Ended ended) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, time, ended);
  }

 private:
  std::mutex mutex_;  // for all below
  std::condition_variable changed_;
  Clock::time_point due_ = Clock::time_point::max();
};

}  // namespace h2server::server
