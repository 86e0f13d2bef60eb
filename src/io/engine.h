// Engine: does I/O for the coroutines of one thread. Callers ask for work, never for readiness.
//
// An operation (Op) lives in the frame of the coroutine that awaits it. Started, it completes
// exactly once; until then its memory belongs to the engine, and destroying it is a bug that is
// asserted. Everything but wake() belongs to the engine's thread.
#pragma once

#include <sys/uio.h>

#include <coroutine>
#include <cstdint>
#include <span>

#include "base/assert.h"
#include "base/fd.h"
#include "base/timer_wheel.h"
#include "h2server/result.h"
#include "io/lease.h"

namespace h2server::io {

class Engine;
class Op;

// A socket as its engine knows it: at most one operation that reads or accepts and one that writes.
// Not movable: the engine keeps its address. Closes the descriptor.
class Socket {
 public:
  Socket(Engine& owner, base::Fd descriptor) noexcept;
  Socket(const Socket&) = delete;
  Socket& operator=(const Socket&) = delete;
  ~Socket();

  [[nodiscard]] int fd() const noexcept { return fd_.get(); }
  [[nodiscard]] Engine& engine() const noexcept { return engine_; }

 private:
  friend class EpollEngine;

  Engine& engine_;
  base::Fd fd_;
  Op* reader_ = nullptr;
  Op* writer_ = nullptr;
  base::Timer timer_;  // stands at or before the earlier deadline of the two
  std::uint32_t turn_ = 0;
  std::uint8_t inline_left_ = 0;  // operations that may complete at once in this turn
  bool readable_ = true;          // as far as we know: only trying tells
  bool ended_ = false;            // the peer hung up: every read from now on answers at once
  bool watched_ = false;          // for input
  bool watched_for_output_ = false;
};

class Op {
 public:
  enum class Kind : std::uint8_t { accept, receive, send, sleep, woken };
  enum class State : std::uint8_t { idle, pending, complete };

  Op(const Op&) = delete;
  Op& operator=(const Op&) = delete;

  // co_await: true when it completed at once.
  bool await_ready();
  void await_suspend(std::coroutine_handle<> waiter) noexcept { waiter_ = waiter; }

  [[nodiscard]] bool pending() const noexcept { return state_ == State::pending; }
  // Asks the engine to complete it sooner, with ECANCELED.
  void cancel();

 protected:
  // `timeout_ms` 0: no deadline.
  Op(Kind kind, Engine& engine, Socket* socket, std::uint32_t timeout_ms) noexcept
      : engine_(engine), socket_(socket), timeout_ms_(timeout_ms), kind_(kind) {}
  ~Op() { ASSERT(state_ != State::pending); }

  int result_ = 0;  // a count or a descriptor; negative: an errno value

 private:
  friend class EpollEngine;

  Engine& engine_;
  Socket* socket_;
  std::coroutine_handle<> waiter_;
  std::int64_t due_ms_ = 0;
  std::uint32_t timeout_ms_;
  Kind kind_;
  State state_ = State::idle;
  bool queued_ = false;  // for the engine's next turn
  bool cancelled_ = false;
};

// Yields a new connection's descriptor, non-blocking and close-on-exec.
class AcceptOp : public Op {
 public:
  explicit AcceptOp(Socket& listener) noexcept
      : Op(Kind::accept, listener.engine(), &listener, 0) {}
  Result<base::Fd> await_resume() const noexcept {
    if (result_ < 0) return std::unexpected(Error{-result_, "accept"});
    return base::Fd(result_);
  }
};

// Yields what has arrived, at least a byte; an empty lease at the end of the stream.
class ReceiveOp : public Op {
 public:
  ReceiveOp(Socket& socket, std::uint32_t timeout_ms) noexcept
      : Op(Kind::receive, socket.engine(), &socket, timeout_ms) {}
  Result<Lease> await_resume() noexcept {
    if (result_ < 0) return std::unexpected(Error{-result_, "receive"});
    return std::move(lease_);
  }

 private:
  friend class EpollEngine;
  Lease lease_;
};

// Sends some of `pieces`, at least a byte, and yields how many. The bytes stay unchanged meanwhile.
class SendOp : public Op {
 public:
  SendOp(Socket& socket, std::span<const iovec> pieces, std::uint32_t timeout_ms) noexcept
      : Op(Kind::send, socket.engine(), &socket, timeout_ms), pieces_(pieces) {}
  Result<std::size_t> await_resume() const noexcept {
    if (result_ < 0) return std::unexpected(Error{-result_, "send"});
    return static_cast<std::size_t>(result_);
  }

 private:
  friend class EpollEngine;
  std::span<const iovec> pieces_;
};

// Waits. False when it was cancelled.
class SleepOp : public Op {
 public:
  SleepOp(Engine& engine, std::uint32_t ms) noexcept : Op(Kind::sleep, engine, nullptr, ms) {}
  bool await_resume() const noexcept { return result_ == 0; }

 private:
  friend class EpollEngine;
  base::Timer timer_;
  SleepOp* next_ = nullptr;
  SleepOp* previous_ = nullptr;
};

// Waits until wake() has been called since the last time. False when it was cancelled.
class WokenOp : public Op {
 public:
  explicit WokenOp(Engine& engine) noexcept : Op(Kind::woken, engine, nullptr, 0) {}
  bool await_resume() const noexcept { return result_ == 0; }
};

class Engine : public Lender {
 public:
  Engine() = default;
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;
  virtual ~Engine() = default;

  // True: it completed already, do not suspend.
  [[nodiscard]] virtual bool start(Op& op) = 0;
  virtual void cancel(Op& op) = 0;
  // Cancels what is pending, and from now on every operation as it starts.
  virtual void cancel_all() = 0;
  // Submits, waits and resumes what completed, until stop().
  virtual void run() = 0;
  virtual void stop() noexcept = 0;
  // The only member that other threads may call; also a signal handler.
  virtual void wake() noexcept = 0;

  // An empty buffer for the caller to fill.
  [[nodiscard]] virtual Lease borrow() = 0;
  // Of this turn; see base/clock.h.
  [[nodiscard]] virtual std::int64_t now_ms() const noexcept = 0;
  [[nodiscard]] virtual std::int64_t unix_seconds() const noexcept = 0;

  // The engine that this thread opened, or null.
  [[nodiscard]] static Engine* current() noexcept;

 private:
  friend class Socket;
  // The socket is going away; it has no operation pending.
  virtual void forget(Socket& socket) noexcept = 0;
};

inline Socket::Socket(Engine& owner, base::Fd descriptor) noexcept
    : engine_(owner), fd_(std::move(descriptor)) {}
inline Socket::~Socket() {
  ASSERT(reader_ == nullptr && writer_ == nullptr);
  engine_.forget(*this);
}

inline bool Op::await_ready() { return engine_.start(*this); }
inline void Op::cancel() { engine_.cancel(*this); }

}  // namespace h2server::io
