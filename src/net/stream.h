// Stream: a connection's bytes in order, both ways, plain or encrypted.
//
// One reader and one writer at a time, on the engine's thread. Errors end the connection: after
// one, only destruction is left.
#pragma once

#include <coroutine>
#include <cstdint>
#include <string_view>
#include <variant>

#include "base/buffer_chain.h"
#include "base/pace.h"
#include "h2server/result.h"
#include "h2server/task.h"
#include "io/engine.h"

namespace h2server::net {

// A read under way, to be awaited where it is made: a socket's own operation, which costs no frame
// while a connection is idle, or a coroutine.
class [[nodiscard]] Read {
 public:
  using Outcome = Result<io::Lease>;

  Read(io::Socket& socket, std::uint32_t timeout_ms)
      : how_(std::in_place_type<io::ReceiveOp>, socket, timeout_ms) {}
  Read(Task<Outcome> task) : how_(std::move(task)) {}  // NOLINT: implicit on purpose

  bool await_ready() {
    io::ReceiveOp* const receive = std::get_if<io::ReceiveOp>(&how_);
    return receive != nullptr && receive->await_ready();
  }
  bool await_suspend(std::coroutine_handle<> waiter) {
    if (Task<Outcome>* const task = std::get_if<Task<Outcome>>(&how_)) {
      return task->await_suspend(waiter);
    }
    std::get<io::ReceiveOp>(how_).await_suspend(waiter);
    return true;
  }
  Outcome await_resume() {
    Task<Outcome>* const task = std::get_if<Task<Outcome>>(&how_);
    return task != nullptr ? task->await_resume() : std::get<io::ReceiveOp>(how_).await_resume();
  }

 private:
  std::variant<io::ReceiveOp, Task<Outcome>> how_;
};

class Stream {
 public:
  Stream() = default;
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;
  virtual ~Stream() = default;

  // What has arrived, at least a byte; an empty lease at the peer's end. ETIMEDOUT when nothing
  // came in `timeout_ms` (0: no limit), ECANCELED after cancel_read().
  virtual Read read(std::uint32_t timeout_ms) = 0;
  // Sends all of `bytes`. ETIMEDOUT when the peer takes them more slowly than `pace` allows, which
  // outlives the call.
  virtual Task<Result<void>> write(base::BufferChain& bytes, base::Pace& pace) = 0;
  // Tells the peer that no more will come.
  virtual Task<void> finish(std::uint32_t timeout_ms) = 0;

  // Whether something has arrived that nobody has asked for yet, as far as the kernel has it.
  [[nodiscard]] virtual bool has_unread() const noexcept { return false; }

  // Until the peer has acknowledged all but the last `bytes_left` of what was written. False: it
  // acknowledged nothing for `timeout_ms`, or is gone.
  virtual Task<bool> acknowledged(std::size_t /*bytes_left*/, std::uint32_t /*timeout_ms*/) {
    co_return true;
  }

  // Ends a read that waits; without one it does nothing.
  virtual void cancel_read() = 0;

  // Bytes that are only read by the kernel may lie in a mapping that shrinks meanwhile; a stream
  // that reads them itself must be given bytes that stay.
  [[nodiscard]] virtual bool bytes_go_to_kernel() const noexcept = 0;

  [[nodiscard]] virtual io::Engine& engine() const noexcept = 0;
  // As io::Socket::move_to().
  virtual void move_to(io::Engine& engine) noexcept = 0;
};

// Reads and drops what the peer still sends, for `timeout_ms` at most, so that it can read our last
// words: closing on unread bytes would send a reset, which destroys them (RFC 9112, 9.6).
Task<void> linger(Stream& stream, std::uint32_t timeout_ms);

}  // namespace h2server::net
