// Completion<T>: a value that a handler awaits and that any thread provides, once. The bridge to
// code with callbacks or threads of its own.
//
//   Completion<Rows> done;
//   database.query(sql, [set = done.completer()](Rows rows) { set(std::move(rows)); });
//   const Result<Rows> rows = co_await done;
#pragma once

#include <atomic>
#include <cerrno>
#include <coroutine>
#include <memory>
#include <optional>
#include <type_traits>
#include <utility>

#include "h2server/delivery.h"
#include "h2server/result.h"

#pragma GCC visibility push(default)
namespace h2server {

template <class T>
class Completion;

namespace coro {

// Shared by a Completion and its Completers.
class CompletionState : private Delivery {
 public:
  CompletionState() : mailbox_(own_mailbox()) {}

  void add_reference() noexcept { references_.fetch_add(1, std::memory_order_relaxed); }
  void release() noexcept {
    if (references_.fetch_sub(1, std::memory_order_acq_rel) == 1) {
      const std::unique_ptr<CompletionState> last(this);
    }
  }
  void add_completer() noexcept {
    completers_.fetch_add(1, std::memory_order_relaxed);
    add_reference();
  }
  // The last one that leaves without a value makes the wait fail.
  void drop_completer() noexcept {
    if (completers_.fetch_sub(1, std::memory_order_acq_rel) == 1 && claim()) deliver();
    release();
  }
  // Returns true to the one caller that may set the result.
  [[nodiscard]] bool claim() noexcept {
    return !claimed_.exchange(true, std::memory_order_acq_rel);
  }
  // Called after claim(), once the result is set.
  void deliver() noexcept {
    add_reference();
    if (!post(*mailbox_, *this)) release();
  }

  StoppableWait wait;  // on the worker's thread

 private:
  void arrive() noexcept override {
    wait.complete();
    release();
  }
  void drop() noexcept override { release(); }

  const MailboxRef mailbox_;
  std::atomic<unsigned> references_{1};
  std::atomic<unsigned> completers_{0};
  std::atomic<bool> claimed_{false};
};

template <class T>
class CompletionStateOf final : public CompletionState {
 public:
  std::optional<Result<T>> result;  // empty: no Completer is left that could set it
};

template <class T>
class CompletionAwaiter {
 public:
  explicit CompletionAwaiter(CompletionStateOf<T>& state) noexcept : state_(state) {}

  bool await_ready() const noexcept { return state_.wait.await_ready(); }
  template <class Promise>
  bool await_suspend(std::coroutine_handle<Promise> waiter) noexcept {
    return state_.wait.await_suspend(waiter);
  }
  Result<T> await_resume() const {
    if (!state_.wait.await_resume()) return std::unexpected(Error{ECANCELED, "completion"});
    if (!state_.result) return std::unexpected(Error{EPIPE, "completion"});
    return *std::move(state_.result);
  }

 private:
  CompletionStateOf<T>& state_;
};

}  // namespace coro

// Provides the value. May be copied, and used and destroyed on any thread, also after the handler
// has ended.
template <class T>
class Completer {
 public:
  Completer(const Completer& other) noexcept : state_(other.state_) { state_->add_completer(); }
  Completer(Completer&& other) noexcept : state_(std::exchange(other.state_, nullptr)) {}
  Completer& operator=(Completer other) noexcept {
    std::swap(state_, other.state_);
    return *this;
  }
  ~Completer() {
    if (state_ != nullptr) state_->drop_completer();
  }

  // Sets the result and wakes the worker. Returns false if there was one already.
  bool operator()(Result<T> result) const {
    if (!state_->claim()) return false;
    state_->result.emplace(std::move(result));
    state_->deliver();
    return true;
  }
  bool operator()() const
    requires std::is_void_v<T>
  {
    return (*this)(Result<void>());
  }

 private:
  friend class Completion<T>;
  explicit Completer(coro::CompletionStateOf<T>* state) noexcept : state_(state) {
    state_->add_completer();
  }

  coro::CompletionStateOf<T>* state_;
};

template <class T>
class Completion {
 public:
  // Throws std::logic_error if the calling thread runs no handler.
  Completion() : state_(std::make_unique<coro::CompletionStateOf<T>>().release()) {}
  Completion(const Completion&) = delete;
  Completion& operator=(const Completion&) = delete;
  ~Completion() { state_->release(); }

  [[nodiscard]] Completer<T> completer() const noexcept { return Completer<T>(state_); }

  // co_await yields what a Completer has set, once; ECANCELED if the task is to stop; EPIPE if all
  // Completers are gone.
  auto operator co_await() noexcept { return coro::CompletionAwaiter<T>(*state_); }

 private:
  coro::CompletionStateOf<T>* const state_;
};

}  // namespace h2server
#pragma GCC visibility pop
