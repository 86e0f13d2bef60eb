// Task<T>: a coroutine that starts when it is awaited and yields one T.
//
// The awaiting side owns the task and its frame. There is no symmetric transfer: GCC 12 compiles it
// into nested calls without optimisation and under sanitizers, so a loop of awaits that complete at
// once would overflow the stack. Instead the awaiter resumes the task inline and does not suspend
// at all when it ended; the stack stays as deep as the awaits are nested, in every build.
//
// One thread: a task is resumed on the thread that first awaited it.
#pragma once

#include <coroutine>
#include <cstddef>
#include <exception>
#include <optional>
#include <utility>

namespace h2server {

template <class T = void>
class Task;

namespace coro {

// Frames come from lists of the thread, by size, so that a warm server allocates none.
void* allocate_frame(std::size_t size);
void release_frame(void* frame, std::size_t size) noexcept;

class PromiseBase {
 public:
  static void* operator new(std::size_t size) { return allocate_frame(size); }
  static void operator delete(void* frame, std::size_t size) noexcept {
    release_frame(frame, size);
  }

  std::suspend_always initial_suspend() noexcept { return {}; }
  void unhandled_exception() noexcept { failure_ = std::current_exception(); }

  void continue_with(std::coroutine_handle<> continuation) noexcept {
    continuation_ = continuation;
  }

  // Resumes who waits; it may destroy the frame that ends here, which is suspended by then.
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
  void rethrow_failure() {
    if (failure_) std::rethrow_exception(failure_);
  }

 private:
  std::coroutine_handle<> continuation_;
  std::exception_ptr failure_;
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
  Task(Task&& other) noexcept : frame_(std::exchange(other.frame_, nullptr)) {}
  Task& operator=(Task&&) = delete;
  ~Task() {
    if (frame_) frame_.destroy();
  }

  bool await_ready() const noexcept { return false; }
  bool await_suspend(std::coroutine_handle<> awaiting) {
    frame_.resume();
    if (frame_.done()) return false;
    frame_.promise().continue_with(awaiting);
    return true;
  }
  T await_resume() { return frame_.promise().take(); }

 private:
  std::coroutine_handle<promise_type> frame_;
};

template <class T>
Task<T> coro::Promise<T>::get_return_object() noexcept {
  return Task<T>(std::coroutine_handle<Promise>::from_promise(*this));
}
inline Task<void> coro::Promise<void>::get_return_object() noexcept {
  return Task<void>(std::coroutine_handle<Promise>::from_promise(*this));
}

}  // namespace h2server
