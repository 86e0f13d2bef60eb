// GiveUp: how long whoever stops a server waits for its threads.
//
// A handler may never end, and a call on a file may hang. At the drain limit, and at the second
// request to stop, what waits is cancelled; what has not ended a little later is left behind. Any
// thread.
#pragma once

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <mutex>

namespace h2server::server {

class GiveUp {
 public:
  using Clock = std::chrono::steady_clock;
  // For coroutines to end by ECANCELED, and for their destructors.
  static constexpr std::chrono::milliseconds unwinding{1000};

  // Nobody waits beyond `due`, or beyond what an earlier call said.
  void at(Clock::time_point due) {
    const std::lock_guard lock(mutex_);
    due_ = std::min(due_, due);
    changed_.notify_all();
  }
  // For another start.
  void reset() {
    const std::lock_guard lock(mutex_);
    due_ = Clock::time_point::max();
  }
  // What somebody waits for may have happened.
  void notify() {
    const std::lock_guard lock(mutex_);
    changed_.notify_all();
  }
  // Waits until `ended()`; returns false if it gave up. `ended` is called with the lock held.
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
  // Returns true if the time to give up was so long ago.
  [[nodiscard]] bool is_past(Clock::duration grace) {
    const std::lock_guard lock(mutex_);
    return due_ != Clock::time_point::max() && Clock::now() >= due_ + grace;
  }
  // As wait(), for at most `time` whatever was said before.
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
