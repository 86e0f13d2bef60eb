// A thread that serves connections by blocking calls: there are many of them, so their stacks are
// small.
#pragma once

#include <pthread.h>

#include <functional>
#include <utility>

#include "base/assert.h"
#include "h2server/result.h"

namespace h2server::server {

class BlockingThread {
 public:
  // Coroutines live on the heap and TLS stages a record of 16 KiB; the rest is for handlers.
  static constexpr std::size_t stack_bytes = 512 * 1024;

  // EAGAIN: the system has no more threads to give.
  static Result<BlockingThread> start(std::function<void()> life);

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

  // Waits for its end, if it was started.
  void join() noexcept;
  // The thread runs on, if it was started. What it uses must never be destroyed.
  void leave_behind() noexcept;

 private:
  pthread_t handle_{};
  bool started_ = false;
};

}  // namespace h2server::server
