// TaskRunner: an engine for a thread that has none and waits for one task after the other.
//
// For one thread.
#pragma once

#include <memory>
#include <new>
#include <optional>
#include <string>
#include <utility>

#include "h2server/result.h"
#include "h2server/store.h"
#include "h2server/task.h"
#include "h2server/task_group.h"
#include "io/epoll_engine.h"

namespace h2server::app {

class TaskRunner {
 public:
  // The error is a part of a line for the operator.
  static Result<TaskRunner, std::string> open();

  // Returns what the task returns, once it ends. Of exceptions it may throw std::bad_alloc only.
  template <class T>
  StoreResult<T> run(Task<StoreResult<T>> task) {
    std::optional<StoreResult<T>> result;
    io::Engine* const before = io::Engine::current();
    io::Engine::set_current(engine_.get());
    engine_->turn();  // its clock stood still since the task before
    {
      TaskGroup group;
      group.start(finish(std::move(task), result, *engine_));
      if (!result) engine_->run();
    }
    io::Engine::set_current(before);
    return *std::move(result);
  }

 private:
  explicit TaskRunner(std::unique_ptr<io::EpollEngine> engine) : engine_(std::move(engine)) {}

  template <class T>
  static Task<void> finish(Task<StoreResult<T>> task, std::optional<StoreResult<T>>& result,
                           io::Engine& engine) {
    try {
      result = co_await task;
    } catch (const std::bad_alloc&) {
      result = std::unexpected(StoreError{.reason = "out of memory"});
    }
    engine.stop();
  }

  std::unique_ptr<io::EpollEngine> engine_;
};

}  // namespace h2server::app
