// Task<T>: a coroutine that starts when it is awaited and yields one T.
//
// The awaiting side owns the task and its frame. There is no symmetric transfer: GCC 12 compiles it
// into nested calls without optimisation and under sanitizers, so a loop of awaits that complete at
// once would overflow the stack. Instead the awaiter resumes the task inline and does not suspend
// if the task has ended. So the stack is as deep as the awaits are nested, in every build.
//
// Not thread-safe: a task is resumed on the thread that first awaited it.
//
// GCC 12 miscompiles a coroutine with a co_await in the condition of an if, while, for or switch,
// unless it has local variables at its outermost level. Name the result first:
//
//   const bool ready = co_await check();
//   if (ready) ...
//
// Awaiting a miscompiled task throws std::logic_error; if a handler does, its client gets 500.
#pragma once

#include <coroutine>
#include <cstddef>
#include <exception>
#include <optional>
#include <utility>

#include "h2server/stop.h"

#pragma GCC visibility push(default)
namespace h2server {

template <class T = void>
class Task;

namespace coro {

// Frames up to 2 KiB come from free lists of the thread, so that a warm server allocates none.
void* allocate_frame(std::size_t size);
void release_frame(void* frame, std::size_t size) noexcept;

// GCC 12 puts an internal variable at the start of some frames, in front of the two function
// pointers that a handle expects there. Resuming such a handle does not start the coroutine.
#if defined(__GNUC__) && !defined(__clang__)
inline constexpr bool frames_may_be_misplaced = true;
#else
inline constexpr bool frames_may_be_misplaced = false;  // an allocation may be elided
#endif

struct FrameCheck {
  void* newest = nullptr;  // the last frame allocated on this thread
  void* wrong = nullptr;   // its address according to the handle; null if that is right
};
inline constinit thread_local FrameCheck frame_check;

// Destroys the newest frame, whose handle is wrong.
void destroy_misplaced() noexcept;
// Throws std::logic_error.
[[noreturn]] void report_misplaced();

class PromiseBase {
 public:
  static void* operator new(std::size_t size) { return frame_check.newest = allocate_frame(size); }
  static void operator delete(void* frame, std::size_t size) noexcept {
    release_frame(frame, size);
  }

  struct InitialAwaiter {
    bool await_ready() noexcept { return false; }
    void await_suspend(std::coroutine_handle<>) noexcept {
      if (frames_may_be_misplaced && frame_check.wrong != nullptr) destroy_misplaced();
    }
    void await_resume() noexcept {}
  };
  InitialAwaiter initial_suspend() noexcept { return {}; }
  void unhandled_exception() noexcept { failure_ = std::current_exception(); }

  void continue_with(std::coroutine_handle<> continuation) noexcept {
    continuation_ = continuation;
  }

  // What tells this task to stop, or null. A task without one takes that of the task that awaits
  // it.
  [[nodiscard]] StopState* stop_state() const noexcept { return stop_; }
  void set_stop_state(StopState* state) noexcept { stop_ = state; }

  // Resumes the awaiter, which may destroy this frame: it is already suspended.
  struct FinalAwaiter {
    bool await_ready() noexcept { return false; }
    template <class Promise>
    void await_suspend(std::coroutine_handle<Promise> ended) noexcept {
      if (auto continuation = ended.promise().continuation_) continuation.resume();
    }
    void await_resume() noexcept {}
  };
  FinalAwaiter final_suspend() noexcept { return {}; }

 protected:
  // Returns true if the handle points to the newest frame; otherwise notes where it points.
  static bool is_in_place(std::coroutine_handle<> frame) noexcept {
    if (!frames_may_be_misplaced || frame.address() == frame_check.newest) return true;
    frame_check.wrong = frame.address();
    return false;
  }
  void rethrow_failure() {
    if (failure_) std::rethrow_exception(failure_);
  }

 private:
  std::coroutine_handle<> continuation_;
  std::exception_ptr failure_;
  StopState* stop_ = nullptr;
};

template <class T>
class Promise : public PromiseBase {
 public:
  Task<T> get_return_object() noexcept;
  template <class U = T>
  void return_value(U&& value) {
    value_.emplace(std::forward<U>(value));
  }
  T take() {
    rethrow_failure();
    return std::move(*value_);
  }

 private:
  std::optional<T> value_;
};

template <>
class Promise<void> : public PromiseBase {
 public:
  Task<void> get_return_object() noexcept;
  void return_void() noexcept {}
  void take() { rethrow_failure(); }
};

}  // namespace coro

template <class T>
class [[nodiscard]] Task {
 public:
  using promise_type = coro::Promise<T>;

  explicit Task(std::coroutine_handle<promise_type> frame) noexcept : frame_(frame) {}
  Task(Task&& other) noexcept
      : frame_(std::exchange(other.frame_, nullptr)), begun_(other.begun_) {}
  Task& operator=(Task&&) = delete;
  ~Task() {
    if (frame_) frame_.destroy();
  }

  bool await_ready() const noexcept { return begun_ && frame_.done(); }
  template <class Promise>
  bool await_suspend(std::coroutine_handle<Promise> awaiting) {
    if constexpr (requires { awaiting.promise().stop_state(); }) {
      inherit_stop(awaiting.promise().stop_state());
    }
    if (!begun_ && start()) return false;
    frame_.promise().continue_with(awaiting);
    return true;
  }
  T await_resume() { return take(); }

  // Runs the task up to its first wait, in front of its await. Returns true if it has ended, and
  // take() may be called.
  bool start() {
    if (coro::frames_may_be_misplaced && !frame_) [[unlikely]]
      coro::report_misplaced();
    begun_ = true;
    frame_.resume();
    return frame_.done();
  }
  T take() { return frame_.promise().take(); }

  // Gives the task a stop state of its own, before it is awaited. The state must outlive the task.
  void stop_by(coro::StopState& state) noexcept {
    if (frame_) frame_.promise().set_stop_state(&state);
  }
  // The same, unless it has one already. `state` may be null.
  void inherit_stop(coro::StopState* state) noexcept {
    if (frame_ && frame_.promise().stop_state() == nullptr) frame_.promise().set_stop_state(state);
  }

 private:
  std::coroutine_handle<promise_type> frame_;
  bool begun_ = false;
};

template <class T>
Task<T> coro::Promise<T>::get_return_object() noexcept {
  const auto frame = std::coroutine_handle<Promise>::from_promise(*this);
  return Task<T>(is_in_place(frame) ? frame : nullptr);
}
inline Task<void> coro::Promise<void>::get_return_object() noexcept {
  const auto frame = std::coroutine_handle<Promise>::from_promise(*this);
  return Task<void>(is_in_place(frame) ? frame : nullptr);
}

}  // namespace h2server
#pragma GCC visibility pop
