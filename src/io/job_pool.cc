#include "io/job_pool.h"

#include <pthread.h>
#include <sched.h>

#include <cerrno>
#include <system_error>
#include <utility>

namespace h2server::io {

JobPool::~JobPool() {
  {
    const std::lock_guard lock(mutex_);
    ending_ = true;
  }
  summons_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

int JobPool::submit(coro::BlockingJob& job) {
  const std::lock_guard lock(mutex_);
  if (full()) return EAGAIN;
  waiting_.push_back(&job);
  if (summon()) return 0;
  waiting_.pop_back();
  return EAGAIN;
}

bool JobPool::withdraw(coro::BlockingJob& job) noexcept {
  const std::lock_guard lock(mutex_);
  return std::erase(waiting_, &job) > 0;
}

// Those that free threads, and threads to be started, are about to take do not count as waiting.
bool JobPool::full() const noexcept {
  const std::size_t taken_soon = free_ + (limits_.threads_max - threads_.size());
  return waiting_.size() >= limits_.waiting_max + taken_soon;
}

bool JobPool::summon() {
  if (summoned_ || waiting_.empty()) return true;
  if (free_ == 0 && !start_thread()) return !threads_.empty();
  summoned_ = true;
  summons_.notify_one();
  return true;
}

bool JobPool::start_thread() {
  if (ending_ || threads_.size() >= limits_.threads_max) return false;
  try {
    threads_.emplace_back([this] { serve(); });
  } catch (const std::system_error&) {  // EAGAIN: no more threads
    return false;
  }
  ++free_;
  return true;
}

void JobPool::serve() {
  // A thread that is woken must not take the core from a worker that has more calls to hand over,
  // nor from a thread that is about to take them.
  const sched_param none{};
  ::pthread_setschedparam(::pthread_self(), SCHED_BATCH, &none);
  std::unique_lock lock(mutex_);
  for (;;) {
    summons_.wait(lock, [this] { return ending_ || summoned_; });
    if (!std::exchange(summoned_, false)) return;
    --free_;
    while (!waiting_.empty()) {
      coro::BlockingJob& job = *waiting_.front();
      waiting_.pop_front();
      summon();
      lock.unlock();
      job.run();
      job.complete();  // the job may end at once
      lock.lock();
    }
    ++free_;
  }
}

}  // namespace h2server::io
