// Transport: a connection's bytes in order, in both directions, plain or encrypted.
//
// One reader and one writer at a time, on the engine's thread. An error ends the connection; the
// transport may then only be destroyed.
#pragma once

#include <coroutine>
#include <cstdint>
#include <string_view>
#include <variant>

#include "base/memory/buffer_chain.h"
#include "base/pace.h"
#include "h2server/connection_info.h"
#include "h2server/result.h"
#include "h2server/task.h"
#include "io/engine.h"

namespace h2server::net {

// A read, to be awaited where it is made: a socket's own operation, which needs no coroutine frame
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

class Transport : public ConnectionInfo {
 public:
  // Yields at least one received byte, or an empty lease at the end of the peer's data. Fails with
  // ETIMEDOUT if nothing arrives in `timeout_ms` (0: no limit), ECANCELED after cancel_read().
  virtual Read read(std::uint32_t timeout_ms) = 0;
  // Sends all of `bytes`. Fails with ETIMEDOUT if the peer is slower than `pace` allows. `pace`
  // must outlive the call.
  virtual Task<Result<void>> write(base::BufferChain& bytes, base::Pace& pace) = 0;
  // Tells the peer that no more data follows.
  virtual Task<void> finish(std::uint32_t timeout_ms) = 0;

  // Returns true if the kernel holds received bytes that have not been read.
  [[nodiscard]] virtual bool has_unread() const noexcept { return false; }

  // Waits until the peer has acknowledged all but the last `bytes_left` bytes written. Yields false
  // if it acknowledges nothing for `timeout_ms`, if it left, or if the wait is cancelled.
  virtual Task<bool> acknowledged(std::size_t /*bytes_left*/, std::uint32_t /*timeout_ms*/) {
    co_return true;
  }

  // Cancels a waiting read, if there is one.
  virtual void cancel_read() = 0;

  // Cancels a waiting write, if there is one: the connection must then be destroyed.
  virtual void cancel_write() {}

  // Ends the connection in both directions: reads and writes, also those that wait, end or fail.
  virtual void break_off() noexcept {}

  // Returns true if only the kernel reads the bytes to write. They may then lie in a mapping that
  // shrinks meanwhile. Otherwise this process reads them, and they must stay valid.
  [[nodiscard]] virtual bool bytes_go_to_kernel() const noexcept = 0;

  // Returns the most bytes, of `bytes_max`, that need no send of fewer bytes than one can take.
  [[nodiscard]] virtual std::size_t whole_sends(std::size_t bytes_max) const noexcept {
    return bytes_max;
  }

  [[nodiscard]] virtual io::Engine& engine() const noexcept = 0;
  // As io::Socket::move_to().
  virtual void move_to(io::Engine& engine) noexcept = 0;
};

// Calls finish(), then reads and drops the peer's data for at most `timeout_ms`, so that the peer
// can read our last output: a close with unread data sends a reset, which destroys that output
// (RFC 9112, 9.6).
Task<void> linger(Transport& transport, std::uint32_t timeout_ms);

}  // namespace h2server::net
