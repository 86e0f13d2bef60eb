// Engine: does I/O for the coroutines of one thread. Callers ask for work, never for readiness.
//
// An operation (Op) lives in the frame of the coroutine that awaits it. Started, it completes
// exactly once; until then its memory belongs to the engine, and destroying it is a bug that is
// asserted. Everything but wake() belongs to the engine's thread.
#pragma once

#include <cstdint>

#include "io/file_op.h"
#include "io/lease.h"
#include "io/op.h"

namespace h2server::io {

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

  // Whether SendOp::file may be used.
  [[nodiscard]] virtual bool sends_files() const noexcept { return false; }

  // An empty buffer for the caller to fill.
  [[nodiscard]] virtual Lease borrow() = 0;
  // Of this turn; see base/clock.h.
  [[nodiscard]] virtual std::int64_t now_ms() const noexcept = 0;
  [[nodiscard]] virtual std::int64_t unix_seconds() const noexcept = 0;

  // Hands a descriptor to another thread's engine, through the kernel, by the end of the turn;
  // false: not from this engine to that one, and nothing happened. The other is woken and takes it.
  [[nodiscard]] virtual bool pass(Engine& /*to*/, base::Fd& /*descriptor*/) { return false; }
  // One that was passed to this engine, or none.
  [[nodiscard]] virtual base::Fd take_passed() { return {}; }
  // Where others send what they pass on; -1: nowhere. Any thread.
  [[nodiscard]] virtual int ring_descriptor() const noexcept { return -1; }

  // The engine that runs the coroutines of this thread, or null.
  [[nodiscard]] static Engine* current() noexcept;
  static void set_current(Engine* engine) noexcept;

 private:
  friend class Socket;
  // The socket is going away; it has no operation pending.
  virtual void forget(Socket& socket) noexcept = 0;
};

inline Socket::Socket(Engine& owner, base::Fd descriptor) noexcept
    : engine_(&owner), fd_(std::move(descriptor)) {}
inline Socket::~Socket() {
  ASSERT(state.reader == nullptr && state.writer == nullptr);
  engine_->forget(*this);
}
inline void Socket::move_to(Engine& engine) noexcept {
  ASSERT(state.reader == nullptr && state.writer == nullptr);
  engine_->forget(*this);
  state = {};
  engine_ = &engine;
}

inline bool Op::await_ready() { return engine.start(*this); }
inline void Op::cancel() { engine.cancel(*this); }

}  // namespace h2server::io
