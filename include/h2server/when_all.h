// when_all(): several tasks side by side.
#pragma once

#include <exception>
#include <optional>
#include <tuple>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "h2server/own_stop.h"
#include "h2server/stop.h"
#include "h2server/task.h"
#include "h2server/task_group.h"

#pragma GCC visibility push(default)
namespace h2server {

namespace coro {

// What one of the tasks yields; std::monostate for void.
template <class T>
using Yield = std::conditional_t<std::is_void_v<T>, std::monostate, T>;

template <class T>
Task<void> keep_yield(Task<T> task, std::optional<Yield<T>>& place, std::exception_ptr& failure) {
  try {
    if constexpr (std::is_void_v<T>) {
      co_await task;
      place.emplace();
    } else {
      T value = co_await task;
      place.emplace(std::move(value));
    }
  } catch (...) {
    if (!failure) failure = std::current_exception();
  }
}

template <class T>
void start_in(TaskGroup& group, StopState* stop, Task<T> task, std::optional<Yield<T>>& place,
              std::exception_ptr& failure) {
  task.inherit_stop(stop);
  group.start(keep_yield<T>(std::move(task), place, failure));
}

}  // namespace coro

// Starts all tasks, waits for all of them, and yields what they yield, in their order. What a task
// throws is thrown again once all have ended; of several exceptions the first.
template <class... T>
Task<std::tuple<coro::Yield<T>...>> when_all(Task<T>... tasks) {
  coro::StopState* const stop = co_await coro::OwnStop();
  std::tuple<std::optional<coro::Yield<T>>...> places;
  std::exception_ptr failure;
  TaskGroup group;
  std::apply(
      [&](auto&... place) {
        (coro::start_in<T>(group, stop, std::move(tasks), place, failure), ...);
      },
      places);
  co_await group.join();
  if (failure) std::rethrow_exception(failure);
  co_return std::apply(
      [](auto&... place) { return std::tuple<coro::Yield<T>...>(*std::move(place)...); }, places);
}

// The same for any number of tasks of one type.
template <class T>
Task<std::vector<coro::Yield<T>>> when_all(std::vector<Task<T>> tasks) {
  coro::StopState* const stop = co_await coro::OwnStop();
  std::vector<std::optional<coro::Yield<T>>> places(tasks.size());
  std::exception_ptr failure;
  TaskGroup group;
  for (std::size_t i = 0; i < tasks.size(); ++i) {
    coro::start_in<T>(group, stop, std::move(tasks[i]), places[i], failure);
  }
  co_await group.join();
  if (failure) std::rethrow_exception(failure);
  std::vector<coro::Yield<T>> yields;
  yields.reserve(places.size());
  for (auto& place : places) yields.push_back(*std::move(place));
  co_return std::move(yields);
}

}  // namespace h2server
#pragma GCC visibility pop
