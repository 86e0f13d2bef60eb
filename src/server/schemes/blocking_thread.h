// BlockingThread: a thread that serves connections by blocking calls. There are many, so the stacks
// are small.
#pragma once

#include <pthread.h>

#include <functional>
#include <utility>

#include "base/assert.h"
#include "h2server/result.h"

namespace h2server::server {

class BlockingThread {
 public:
  // Coroutine frames are on the heap, and TLS needs a record of 16 KiB; the rest is for handlers.
  static constexpr std::size_t stack_bytes = 512 * 1024;

  // Returns EAGAIN if the system has no more threads.
  static Result<BlockingThread> start(std::function<void()> body);

  BlockingThread() = default;
  BlockingThread(BlockingThread&& other) noexcept
      : handle_(other.handle_), started_(std::exchange(other.started_, false)) {}
  BlockingThread& operator=(BlockingThread&& other) noexcept {
    ASSERT(!started_);
    handle_ = other.handle_;
    started_ = std::exchange(other.started_, false);
    return *this;
  }
  ~BlockingThread() { ASSERT(!started_); }

  // Waits until the thread has ended, if it was started.
  void join() noexcept;
  // Detaches the thread, if it was started. What it uses must never be destroyed.
  void leave_behind() noexcept;

 private:
  pthread_t handle_{};
  bool started_ = false;
};

}  // namespace h2server::server
