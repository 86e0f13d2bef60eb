// JobPool: a bounded pool of threads for calls of handlers that block.
//
// Threads are started as they are needed and stay. A thread takes one job after the other, and
// summons the next thread when it leaves others waiting: so many short jobs share one wake-up, and
// no job waits for one that blocks while the pool has room. Thread-safe.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <mutex>
#include <thread>
#include <vector>

#include "h2server/blocking.h"

namespace h2server::io {

struct JobPoolLimits {
  unsigned threads_max = 1;
  std::size_t waiting_max = 0;  // jobs without a thread
};

class JobPool {
 public:
  JobPool() = default;
  JobPool(const JobPool&) = delete;
  JobPool& operator=(const JobPool&) = delete;
  // Waits for the calls that run.
  ~JobPool();

  // Before the first submit().
  void set_limits(const JobPoolLimits& limits) noexcept { limits_ = limits; }

  // Returns 0, or EAGAIN if too many jobs wait or no thread can be started.
  int submit(coro::BlockingJob& job);
  // Jobs that wait for a thread. Any thread.
  [[nodiscard]] std::size_t waiting() const {
    const std::lock_guard lock(mutex_);
    return waiting_.size();
  }
  // Returns false if a thread has begun the job: it will complete.
  bool withdraw(coro::BlockingJob& job) noexcept;

 private:
  void serve();
  // Gets one more thread for the jobs that wait, unless one is on its way. Returns false if there
  // is no thread at all and none can be started.
  bool summon();
  bool start_thread();
  [[nodiscard]] bool full() const noexcept;

  mutable std::mutex mutex_;
  std::condition_variable summons_;
  JobPoolLimits limits_;
  std::deque<coro::BlockingJob*> waiting_;
  std::vector<std::thread> threads_;
  std::size_t free_ = 0;   // threads without a job
  bool summoned_ = false;  // one of them is on its way to the jobs that wait
  bool ending_ = false;
};

}  // namespace h2server::io
