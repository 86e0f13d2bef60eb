// JobPool: a bounded pool of threads for calls of handlers that block.
//
// Threads are started as they are needed and stay. Thread-safe.
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
  // Returns false if a thread has begun the job: it will complete.
  bool withdraw(coro::BlockingJob& job) noexcept;

 private:
  void serve();
  bool start_thread();

  std::mutex mutex_;
  std::condition_variable wanted_;
  JobPoolLimits limits_;
  std::deque<coro::BlockingJob*> waiting_;
  std::size_t idle_ = 0;  // threads that wait for a job
  std::vector<std::thread> threads_;
  bool ending_ = false;
};

}  // namespace h2server::io
