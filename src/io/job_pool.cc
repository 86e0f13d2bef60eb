#include "io/job_pool.h"

#include <cerrno>
#include <system_error>

namespace h2server::io {

JobPool::~JobPool() {
  {
    const std::lock_guard lock(mutex_);
    ending_ = true;
  }
  wanted_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

int JobPool::submit(coro::BlockingJob& job) {
  const std::lock_guard lock(mutex_);
  if (idle_ > waiting_.size() || start_thread()) {
    waiting_.push_back(&job);
    wanted_.notify_one();
    return 0;
  }
  // Idle threads are about to take some of those that wait.
  if (threads_.empty() || waiting_.size() >= limits_.waiting_max + idle_) return EAGAIN;
  waiting_.push_back(&job);
  return 0;
}

bool JobPool::withdraw(coro::BlockingJob& job) noexcept {
  const std::lock_guard lock(mutex_);
  return std::erase(waiting_, &job) > 0;
}

bool JobPool::start_thread() {
  if (threads_.size() >= limits_.threads_max) return false;
  try {
    threads_.emplace_back([this] { serve(); });
  } catch (const std::system_error&) {  // EAGAIN: no more threads
    return false;
  }
  ++idle_;  // until it has taken its first job
  return true;
}

void JobPool::serve() {
  std::unique_lock lock(mutex_);
  for (;;) {
    wanted_.wait(lock, [this] { return ending_ || !waiting_.empty(); });
    if (waiting_.empty()) return;
    coro::BlockingJob& job = *waiting_.front();
    waiting_.pop_front();
    --idle_;
    lock.unlock();
    job.run();
    job.complete();  // the job may end at once
    lock.lock();
    ++idle_;
  }
}

}  // namespace h2server::io
