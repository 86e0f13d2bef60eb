// StopToken: tells a handler that its work is no longer wanted, because the client left, the
// exchange's deadline passed or the server stops.
//
// Every wait of this library ends early with ECANCELED once the token of its task has stopped. A
// handler has the token of its exchange, and hands it on to every task that it awaits. Other code
// may ask, wait, or register a callback:
//
//   StopCallback interrupt(request.stop_token(), [&] { sqlite3_interrupt(database); });
//
// A token belongs to one worker: it stops, and is used, on that worker's thread.
#pragma once

#include <coroutine>
#include <cstdint>
#include <functional>
#include <utility>

#pragma GCC visibility push(default)
namespace h2server {

enum class StopReason : std::uint8_t {
  none,         // it has not stopped
  client_left,  // the connection ended, or the client reset the stream
  deadline,     // with_timeout() or Request::set_deadline()
  server_stops,
  aborted,  // by Request::abort()
};

namespace coro {

class StopState;

// What is called once when a StopState stops. Unlinks itself when it is destroyed.
class StopHook {
 public:
  StopHook() = default;
  StopHook(const StopHook&) = delete;
  StopHook& operator=(const StopHook&) = delete;

  // Links the hook. The state must not have stopped. Its observer does not learn of a quiet hook: a
  // connection of HTTP/1.1 does not watch its client for it.
  void hook(StopState& state, bool quietly = false) noexcept;
  void unhook() noexcept;
  [[nodiscard]] bool hooked() const noexcept { return state_ != nullptr; }

 protected:
  virtual ~StopHook() { unhook(); }

 private:
  friend class StopState;
  // The hook has been unlinked, and may be destroyed by this call.
  virtual void on_stop(StopReason reason) noexcept = 0;

  StopState* state_ = nullptr;
  StopHook* next_ = nullptr;
  StopHook* previous_ = nullptr;
  bool quiet_ = false;
};

// The stop state of a task, and the hooks to call when it stops. One thread.
class StopState {
 public:
  // The connection, which is where reasons come from.
  class Observer {
   public:
    // Somebody wants to know whether the client leaves. Must not stop the state.
    virtual void on_hook() noexcept = 0;
    // Called before the hooks.
    virtual void on_stop() noexcept = 0;

   protected:
    ~Observer() = default;
  };

  StopState() = default;
  StopState(const StopState&) = delete;
  StopState& operator=(const StopState&) = delete;
  ~StopState() { clear(); }

  [[nodiscard]] bool stopped() const noexcept { return reason_ != StopReason::none; }
  [[nodiscard]] StopReason reason() const noexcept { return reason_; }
  // Returns true if there is a hook that is not quiet.
  [[nodiscard]] bool hooked() const noexcept { return loud_hooks_ > 0; }
  [[nodiscard]] bool hooked_twice() const noexcept { return loud_hooks_ > 1; }
  void observe(Observer* observer) noexcept { observer_ = observer; }
  // Whom the task works for: clients take turns at what is scarce. 0: nobody in particular.
  [[nodiscard]] std::uint64_t client() const noexcept { return client_; }
  void work_for(std::uint64_t client) noexcept { client_ = client; }
  // What threads have done for it so far, beside what it cost its worker: each call as one, or as
  // ten if it takes long.
  [[nodiscard]] std::uint32_t work() const noexcept { return work_; }
  void count_work(std::uint32_t amount) noexcept { work_ += amount; }
  // Calls all hooks, the oldest first. They may destroy other hooks and the state itself. Without
  // effect if it has stopped already.
  void stop(StopReason reason) noexcept;
  // Returns to the initial state. Hooks that are still linked will not be called.
  void clear() noexcept;

 private:
  friend class StopHook;

  StopHook* first_ = nullptr;
  StopHook* last_ = nullptr;
  Observer* observer_ = nullptr;
  struct Run;
  Run* run_ = nullptr;  // the stop() that runs
  std::uint64_t client_ = 0;
  std::uint32_t loud_hooks_ = 0;
  std::uint32_t work_ = 0;
  StopReason reason_ = StopReason::none;
};

// One coroutine that waits for one event, or until its task is to stop. To be awaited where it is;
// yields true after complete(), false if the task is to stop.
class StoppableWait : private StopHook {
 public:
  bool await_ready() const noexcept { return complete_; }
  template <class Promise>
  bool await_suspend(std::coroutine_handle<Promise> waiter) noexcept {
    waiter_ = waiter;
    if constexpr (requires { waiter.promise().stop_state(); }) {
      if (StopState* const state = waiter.promise().stop_state()) {
        if (state->stopped()) {
          waiter_ = nullptr;
          return false;
        }
        hook(*state);
      }
    }
    return true;
  }
  bool await_resume() noexcept { return complete_; }

  // The same without an end by the token.
  auto regardless() noexcept {
    struct Awaiter {
      StoppableWait& wait;
      bool await_ready() const noexcept { return wait.complete_; }
      void await_suspend(std::coroutine_handle<> waiter) noexcept { wait.waiter_ = waiter; }
      void await_resume() const noexcept {}
    };
    return Awaiter{*this};
  }

  // Resumes the waiter, or makes the next wait return at once.
  void complete() {
    complete_ = true;
    resume();
  }

 private:
  void on_stop(StopReason) noexcept override { resume(); }
  void resume() {
    unhook();
    if (waiter_) std::exchange(waiter_, nullptr).resume();
  }

  std::coroutine_handle<> waiter_;
  bool complete_ = false;
};

}  // namespace coro

class StopToken {
 public:
  StopToken() noexcept = default;  // never stops
  explicit StopToken(coro::StopState* state) noexcept : state_(state) {}

  [[nodiscard]] bool stop_requested() const noexcept {
    return state_ != nullptr && state_->stopped();
  }
  [[nodiscard]] StopReason reason() const noexcept {
    return state_ != nullptr ? state_->reason() : StopReason::none;
  }

 private:
  friend class StopCallback;
  coro::StopState* state_ = nullptr;
};

// Calls a function once when the token stops, on the worker's thread; at once if it has stopped.
// The function must not throw. Must be destroyed on that thread.
class StopCallback : private coro::StopHook {
 public:
  StopCallback(StopToken token, std::function<void()> function) : function_(std::move(function)) {
    if (token.stop_requested()) {
      function_();
    } else if (token.state_ != nullptr) {
      hook(*token.state_);
    }
  }

 private:
  void on_stop(StopReason) noexcept override { std::exchange(function_, nullptr)(); }

  std::function<void()> function_;
};

}  // namespace h2server
#pragma GCC visibility pop
