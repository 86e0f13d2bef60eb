// TaskGroup: tasks that run concurrently with their starter.
//
// One thread. A started task runs at once, until it first suspends. Join the group before it is
// destroyed: the process aborts if a task still runs.
#pragma once

#include <coroutine>
#include <cstddef>
#include <utility>

#include "h2server/task.h"

#pragma GCC visibility push(default)
namespace h2server {

namespace coro {
// Abort the process with a message.
[[noreturn]] void report_group_not_joined() noexcept;
[[noreturn]] void report_task_threw() noexcept;
}  // namespace coro

class TaskGroup {
 public:
  TaskGroup() = default;
  TaskGroup(const TaskGroup&) = delete;
  TaskGroup& operator=(const TaskGroup&) = delete;
  ~TaskGroup() {
    if (running_ != 0) coro::report_group_not_joined();
  }

  // The process aborts if the task throws. Without a stop state of its own it has none.
  void start(Task<void> task) {
    ++running_;
    run(*this, std::move(task));
  }

  [[nodiscard]] std::size_t running() const noexcept { return running_; }

  // co_await group.join() waits until every task has ended. One waiter.
  auto join() noexcept {
    struct Awaiter {
      TaskGroup& group;
      bool await_ready() const noexcept { return group.running_ == 0; }
      void await_suspend(std::coroutine_handle<> waiter) noexcept { group.joiner_ = waiter; }
      void await_resume() const noexcept {}
    };
    return Awaiter{*this};
  }

 private:
  // A coroutine frame that destroys itself when it ends.
  struct Root {
    struct promise_type {
      TaskGroup& group;

      promise_type(TaskGroup& owner, Task<void>&) noexcept : group(owner) {}
      static void* operator new(std::size_t size) { return coro::allocate_frame(size); }
      static void operator delete(void* frame, std::size_t size) noexcept {
        coro::release_frame(frame, size);
      }
      Root get_return_object() noexcept { return {}; }
      std::suspend_never initial_suspend() noexcept { return {}; }
      void return_void() noexcept {}
      void unhandled_exception() noexcept { coro::report_task_threw(); }

      struct Final {
        bool await_ready() noexcept { return false; }
        void await_suspend(std::coroutine_handle<promise_type> ended) noexcept {
          TaskGroup& owner = ended.promise().group;
          ended.destroy();
          owner.one_ended();
        }
        void await_resume() noexcept {}
      };
      Final final_suspend() noexcept { return {}; }
    };
  };

  static Root run(TaskGroup&, Task<void> task) { co_await task; }

  void one_ended() noexcept {
    if (--running_ > 0 || !joiner_) return;
    std::exchange(joiner_, nullptr).resume();
  }

  std::size_t running_ = 0;
  std::coroutine_handle<> joiner_;
};

}  // namespace h2server
#pragma GCC visibility pop
