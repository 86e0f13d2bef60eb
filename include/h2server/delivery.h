// What another thread hands to a worker. The parts from which Completion, Channel and
// run_blocking() are made.
#pragma once

#include <coroutine>
#include <memory>
#include <utility>

#include "h2server/stop.h"

namespace h2server::io {
class Mailbox;
}

#pragma GCC visibility push(default)
namespace h2server {

namespace coro {

// An object that one thread posts to the mailbox of another.
class Delivery {
 public:
  Delivery() = default;
  Delivery(const Delivery&) = delete;
  Delivery& operator=(const Delivery&) = delete;

  // Called once on the worker's thread, after which it may be posted again.
  virtual void arrive() noexcept = 0;
  // Called instead if the worker ended first.
  virtual void drop() noexcept = 0;

 protected:
  constexpr virtual ~Delivery() = default;

 private:
  friend class io::Mailbox;
  Delivery* next_ = nullptr;
};

using MailboxRef = std::shared_ptr<io::Mailbox>;

// Returns the mailbox of the worker that runs on this thread. Throws std::logic_error if none does,
// and std::system_error if it can't have one for lack of descriptors (blocking schemes only).
[[nodiscard]] MailboxRef own_mailbox();
// Returns false, without effect, if the worker has ended. Any thread.
bool post(io::Mailbox& mailbox, Delivery& delivery) noexcept;

// One coroutine of a worker that waits for another thread, or for its stop token. Lives in the
// coroutine's frame. A derived class implements await_ready() and await_resume(), and registers the
// wait with the other side in its await_suspend(), before suspend().
class RemoteWait : public Delivery, private StopHook {
 public:
  RemoteWait() : mailbox_(own_mailbox()) {}

  // Resumes the coroutine, on its thread. Called once by the other side, on any thread.
  void complete() noexcept { post(*mailbox_, *this); }

 protected:
  // Returns true if the task of `waiter` is to stop, so that it need not wait.
  template <class Promise>
  [[nodiscard]] static bool stops(std::coroutine_handle<Promise> waiter) noexcept {
    const StopState* const state = stop_state_of(waiter);
    return state != nullptr && state->stopped();
  }
  template <class Promise>
  void suspend(std::coroutine_handle<Promise> waiter) noexcept {
    waiter_ = waiter;
    if (StopState* const state = stop_state_of(waiter)) hook(*state);
  }
  // Undoes suspend(), if the other side could not be reached.
  void unsuspend() noexcept { unhook(); }
  // True if the token stopped before the other side completed the wait.
  [[nodiscard]] bool cancelled() const noexcept { return cancelled_; }

 private:
  // Takes the wait back from the other side. Returns false if that is completing it.
  virtual bool withdraw() noexcept = 0;

  template <class Promise>
  static StopState* stop_state_of(std::coroutine_handle<Promise> waiter) noexcept {
    if constexpr (requires { waiter.promise().stop_state(); }) {
      return waiter.promise().stop_state();
    } else {
      return nullptr;
    }
  }
  void on_stop(StopReason) noexcept override {
    if (!withdraw()) return;
    cancelled_ = true;
    waiter_.resume();
  }
  void arrive() noexcept override {
    unhook();
    waiter_.resume();
  }
  void drop() noexcept override {}  // its frame keeps the worker alive

  const MailboxRef mailbox_;
  std::coroutine_handle<> waiter_;
  bool cancelled_ = false;
};

}  // namespace coro

}  // namespace h2server
#pragma GCC visibility pop
