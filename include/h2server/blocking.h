// run_blocking(): calls that block, on threads of their own.
#pragma once

#include <coroutine>
#include <exception>
#include <optional>
#include <stop_token>
#include <type_traits>
#include <utility>
#include <variant>

#include "h2server/delivery.h"
#include "h2server/result.h"
#include "h2server/task.h"

namespace h2server::io {
class JobPool;
}

#pragma GCC visibility push(default)
namespace h2server {

namespace coro {

// A call that waits for a thread of the server's pool, or runs on one.
class BlockingJob : public RemoteWait {
 public:
  bool await_ready() const noexcept { return false; }
  template <class Promise>
  bool await_suspend(std::coroutine_handle<Promise> waiter) {
    if (stops(waiter)) {
      refused_ = ECANCELED;
      return false;
    }
    suspend(waiter);
    refused_ = submit();
    if (refused_ == 0) return true;
    unsuspend();
    return false;
  }
  // Fails with EAGAIN if the pool's queue is full, and with ECANCELED if the call was not made.
  Result<void> await_resume() const noexcept {
    if (cancelled()) return std::unexpected(Error{ECANCELED, "run_blocking"});
    if (refused_ != 0) return std::unexpected(Error{refused_, "run_blocking"});
    return {};
  }

  // For the pool: makes the call, on its thread. complete() follows.
  virtual void run() noexcept = 0;

 private:
  // Returns 0 or an errno value.
  int submit() noexcept;
  bool withdraw() noexcept final;
  // The token stopped, but the call has begun.
  virtual void ask_to_stop() noexcept = 0;

  io::JobPool* pool_ = nullptr;  // the server's, once submitted
  int refused_ = 0;
};

template <class F>
inline constexpr bool takes_stop_token = std::is_invocable_v<F&, std::stop_token>;

template <class F, bool = takes_stop_token<F>>
struct BlockingYield {
  using Type = std::invoke_result_t<F&>;
};
template <class F>
struct BlockingYield<F, true> {
  using Type = std::invoke_result_t<F&, std::stop_token>;
};

template <class F>
class BlockingCall final : public BlockingJob {
 public:
  using Yield = typename BlockingYield<F>::Type;

  explicit BlockingCall(F& function) noexcept : function_(function) {}

  void run() noexcept override {
    try {
      if constexpr (std::is_void_v<Yield>) {
        call();
      } else {
        value_.emplace(call());
      }
    } catch (...) {
      failure_ = std::current_exception();
    }
  }
  Result<Yield> take() {
    if (failure_) std::rethrow_exception(failure_);
    if constexpr (std::is_void_v<Yield>) {
      return {};
    } else {
      return *std::move(value_);
    }
  }

 private:
  Yield call() {
    if constexpr (takes_stop_token<F>) {
      return function_(stop_.get_token());
    } else {
      return function_();
    }
  }
  void ask_to_stop() noexcept override {
    if constexpr (takes_stop_token<F>) stop_.request_stop();
  }

  F& function_;
  std::optional<std::conditional_t<std::is_void_v<Yield>, std::monostate, Yield>> value_;
  std::exception_ptr failure_;
  [[no_unique_address]] std::conditional_t<takes_stop_token<F>, std::stop_source, std::monostate>
      stop_;
};

template <class F>
Task<Result<typename BlockingYield<F>::Type>> call_blocking(F f) {
  BlockingCall<F> call(f);
  const Result<void> made = co_await call;
  if (!made) co_return std::unexpected(made.error());
  co_return call.take();
}

// GCC 12 destroys a lambda twice that has captures with destructors and is written within the
// co_await expression.
#if defined(__GNUC__) && !defined(__clang__)
template <class F>
inline constexpr bool is_safe_in_place =
    std::is_lvalue_reference_v<F> || std::is_trivially_destructible_v<F>;
#else
template <class F>
inline constexpr bool is_safe_in_place = true;
#endif

}  // namespace coro

// Calls f() on a thread of the server's pool (ServerOptions::blocking_threads_max) and yields what
// it returns. What it throws is thrown to the caller. Fails with EAGAIN if too many calls wait
// (blocking_queue_max), which an unhandled .value() turns into 503; and with ECANCELED if the task
// is to stop before a thread has begun the call. A call that has begun is waited for, so that it
// may refer to the caller's variables; it may take a std::stop_token to end early.
template <class F>
auto run_blocking(F&& f) {
  static_assert(coro::is_safe_in_place<F>,
                "GCC destroys this lambda twice: give it a name first, as in "
                "const auto call = [text] { ... }; co_await run_blocking(call);");
  return coro::call_blocking<std::remove_cvref_t<F>>(std::forward<F>(f));
}

}  // namespace h2server
#pragma GCC visibility pop
