// What an engine is asked to do, and the sockets it does it on. Used through io/engine.h.
#pragma once

#include <sys/socket.h>
#include <sys/uio.h>

#include <coroutine>
#include <cstdint>
#include <span>

#include "base/assert.h"
#include "base/fd.h"
#include "base/file_range.h"
#include "base/timer_wheel.h"
#include "h2server/result.h"
#include "io/lease.h"

namespace h2server::io {

class Engine;
class Op;
struct UringSlot;

// A socket as its engine knows it: at most one operation that reads or accepts and one that writes.
// Not movable: operations keep its address. Closes the descriptor.
class Socket {
 public:
  Socket(Engine& owner, base::Fd descriptor) noexcept;
  Socket(const Socket&) = delete;
  Socket& operator=(const Socket&) = delete;
  ~Socket();

  [[nodiscard]] int fd() const noexcept { return fd_.get(); }
  [[nodiscard]] Engine& engine() const noexcept { return *engine_; }
  // To another engine of this thread. No operation is pending, and nothing that has arrived is
  // still with the old one: only a blocking engine gives a socket away.
  void move_to(Engine& engine) noexcept;

  // The engine's part; nobody else looks.
  struct State {
    Op* reader = nullptr;
    Op* writer = nullptr;
    base::Timer timer;          // stands at or before the earlier deadline of the two
    UringSlot* slot = nullptr;  // io_uring: what outlives the socket
    std::uint32_t turn = 0;
    std::uint8_t inline_left = 0;  // operations that may complete at once in this turn
    bool readable = true;          // as far as we know: only trying tells
    bool ended = false;            // the peer hung up: every read from now on answers at once
    bool watched = false;          // for input
    bool watched_for_output = false;
  };
  State state;

 private:
  Engine* engine_;
  base::Fd fd_;
};

class Op {
 public:
  enum class Kind : std::uint8_t { accept, receive, send, sleep, woken, file };

  Op(const Op&) = delete;
  Op& operator=(const Op&) = delete;

  // co_await: true when it completed at once.
  bool await_ready();
  void await_suspend(std::coroutine_handle<> waiter) noexcept { state.waiter = waiter; }

  [[nodiscard]] bool pending() const noexcept { return state.phase == State::Phase::pending; }
  // Asks the engine to complete it sooner, with ECANCELED.
  void cancel();

  Engine& engine;
  Socket* const socket;  // null: it is not about a socket
  const std::uint32_t timeout_ms;
  const Kind kind;
  // cancel_all() leaves it alone: it ends what would not end by itself.
  const bool outlasts_cancel_all;

  // The engine's part; nobody else looks.
  struct State {
    enum class Phase : std::uint8_t { idle, pending, complete };

    Op* next = nullptr;  // of those that are pending
    Op* previous = nullptr;
    std::coroutine_handle<> waiter;
    std::int64_t due_ms = 0;
    int result = 0;  // a count or a descriptor; negative: an errno value
    int ending = 0;  // why it is to end early: a negative errno value
    Phase phase = Phase::idle;
    bool queued = false;     // for the engine's next turn
    bool in_kernel = false;  // or with a thread, which may read and write its memory
    bool on_thread = false;
    bool finished = false;  // its result came while it was queued
  };
  State state;

 protected:
  // `timeout` in milliseconds; 0: no deadline.
  Op(Kind what, Engine& where, Socket* about, std::uint32_t timeout, bool outlasts = false) noexcept
      : engine(where),
        socket(about),
        timeout_ms(timeout),
        kind(what),
        outlasts_cancel_all(outlasts) {}
  ~Op() { ASSERT(!pending()); }
};

// Yields a new connection's descriptor, close-on-exec.
class AcceptOp : public Op {
 public:
  explicit AcceptOp(Socket& listener) noexcept
      : Op(Kind::accept, listener.engine(), &listener, 0) {}
  Result<base::Fd> await_resume() const noexcept {
    if (state.result < 0) return std::unexpected(Error{-state.result, "accept"});
    return base::Fd(state.result);
  }
};

// Yields what has arrived, at least a byte; an empty lease at the end of the stream.
class ReceiveOp : public Op {
 public:
  ReceiveOp(Socket& from, std::uint32_t timeout) noexcept
      : Op(Kind::receive, from.engine(), &from, timeout) {}
  Result<Lease> await_resume() noexcept {
    if (state.result < 0) return std::unexpected(Error{-state.result, "receive"});
    return std::move(lease);
  }

  Lease lease;  // the engine fills it in
};

// Sends some of `pieces`, at least a byte, and yields how many. The bytes stay unchanged meanwhile.
class SendOp : public Op {
 public:
  SendOp(Socket& to, std::span<const iovec> what, std::uint32_t timeout) noexcept
      : Op(Kind::send, to.engine(), &to, timeout) {
    message.msg_iov = const_cast<iovec*>(what.data());
    message.msg_iovlen = what.size();
  }
  Result<std::size_t> await_resume() const noexcept {
    if (state.result < 0) return std::unexpected(Error{-state.result, "send"});
    return static_cast<std::size_t>(state.result);
  }

  msghdr message{};
  base::FileRange file;  // sent instead of the pieces, where Engine::sends_files(); see send_file()
  bool more = false;     // comes at once: the kernel need not send a packet that is not full
};

// Waits. False when it was cancelled.
class SleepOp : public Op {
 public:
  SleepOp(Engine& where, std::uint32_t ms) noexcept : Op(Kind::sleep, where, nullptr, ms) {}
  bool await_resume() const noexcept { return state.result == 0; }

  base::Timer timer;  // the engine's
};

// Waits until wake() has been called since the last time. False when it was cancelled.
class WokenOp : public Op {
 public:
  explicit WokenOp(Engine& where, bool outlasts = false) noexcept
      : Op(Kind::woken, where, nullptr, 0, outlasts) {}
  bool await_resume() const noexcept { return state.result == 0; }
};

}  // namespace h2server::io
