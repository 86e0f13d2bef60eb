// Op: an operation of an engine, and Socket: what most operations work on. Include io/engine.h.
#pragma once

#include <sys/socket.h>
#include <sys/uio.h>

#include <coroutine>
#include <cstdint>
#include <span>

#include "base/assert.h"
#include "base/fd.h"
#include "base/memory/buffer_chain.h"
#include "base/timer_wheel.h"
#include "h2server/result.h"
#include "io/file_call.h"
#include "io/lease.h"

namespace h2server::io {

class Engine;
class Op;
struct UringSlot;

// A socket of an engine, with at most one pending operation that reads or accepts and one that
// writes. Owns the descriptor. Not movable, because operations keep its address.
class Socket {
 public:
  Socket(Engine& owner, base::Fd descriptor) noexcept;
  Socket(const Socket&) = delete;
  Socket& operator=(const Socket&) = delete;
  ~Socket();

  [[nodiscard]] int fd() const noexcept { return fd_.get(); }
  [[nodiscard]] Engine& engine() const noexcept { return *engine_; }
  // Moves the socket to another engine of this thread. No operation may be pending, and the old
  // engine must hold no received data, so the old engine must be a BlockingEngine.
  void move_to(Engine& engine) noexcept;

  // For the engine only, except `reader`, which TcpTransport::cancel_read() uses.
  struct State {
    Op* reader = nullptr;
    Op* writer = nullptr;
    base::Timer timer;          // set no later than the earlier deadline of the two
    UringSlot* slot = nullptr;  // io_uring: the part that may outlive the socket
    std::uint32_t turn = 0;
    std::uint8_t inline_left = 0;  // operations that may complete at once in this turn
    bool readable = true;          // a guess; only a read tells for certain
    bool ended = false;            // the peer hung up: no later read waits
    bool watched = false;          // for input; epoll
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

  // For co_await. Returns true if the operation completed at once.
  bool await_ready();
  void await_suspend(std::coroutine_handle<> waiter) noexcept { state.waiter = waiter; }

  [[nodiscard]] bool pending() const noexcept { return state.phase == State::Phase::pending; }
  // Asks the engine to complete the operation early, with ECANCELED.
  void cancel();

  Engine& engine;
  Socket* const socket;  // null: the operation needs no socket
  const std::uint32_t timeout_ms;
  const Kind kind;
  // True if cancel_all() does not cancel this operation.
  const bool outlasts_cancel_all;

  // For the engine only.
  struct State {
    enum class Phase : std::uint8_t { idle, pending, complete };

    Op* next = nullptr;  // in the list of pending operations
    Op* previous = nullptr;
    std::coroutine_handle<> waiter;
    std::int64_t due_ms = 0;
    int result = 0;  // a count or a descriptor, or a negative errno value
    int ending = 0;  // why it must end early: a negative errno value; else 0
    Phase phase = Phase::idle;
    bool queued = false;     // waits for LoopEngine::run_queued()
    bool in_kernel = false;  // the kernel or a thread may use its memory
    bool on_thread = false;
    bool finished = false;  // its result arrived while it was queued
  };
  State state;

 protected:
  // `timeout` is in milliseconds; 0: no deadline.
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

// Yields at least one received byte, or an empty lease at the end of the stream.
class ReceiveOp : public Op {
 public:
  ReceiveOp(Socket& from, std::uint32_t timeout) noexcept
      : Op(Kind::receive, from.engine(), &from, timeout) {}
  Result<Lease> await_resume() noexcept {
    if (state.result < 0) return std::unexpected(Error{-state.result, "receive"});
    return std::move(lease);
  }

  Lease lease;  // set by the engine
};

// Sends at least one byte of `what` and yields the count. The bytes must not change meanwhile.
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
  base::FileRange file;  // if not empty, sent instead; needs Engine::sends_files()
  bool more = false;     // more follows at once: the kernel may hold back a partial packet
};

// Waits for `ms`; 0: until the next turn, behind what the kernel has reported by then. Yields false
// if cancelled.
class SleepOp : public Op {
 public:
  SleepOp(Engine& where, std::uint32_t ms) noexcept : Op(Kind::sleep, where, nullptr, ms) {}
  bool await_resume() const noexcept { return state.result == 0; }

  base::Timer timer;  // for the engine only
};

// Waits for Engine::wake(); a call since the last WokenOp counts. Yields false if cancelled.
class WokenOp : public Op {
 public:
  explicit WokenOp(Engine& where, bool outlasts = false) noexcept
      : Op(Kind::woken, where, nullptr, 0, outlasts) {}
  bool await_resume() const noexcept { return state.result == 0; }
};

// A FileCall as an operation. A loop engine tries it at once; it completes if it need not wait for
// the disk. Otherwise it runs on io_uring's workers, or on FileThreads with epoll and for calls
// that io_uring has no operation for, so the engine's thread does not wait.
class FileOp final : public Op {
 public:
  FileOp(Engine& where, const FileCall& what) noexcept
      : Op(Kind::file, where, nullptr, 0), call(what) {}
  // Returns as FileCall::make().
  int await_resume() const noexcept { return state.result; }

  const FileCall call;
  // For FairQueue only.
  FileOp* next_waiting = nullptr;
  FileOp* previous_waiting = nullptr;
  bool waits = false;
};

}  // namespace h2server::io
