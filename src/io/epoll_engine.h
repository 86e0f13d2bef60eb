// EpollEngine: the engine on edge-triggered epoll.
//
// An operation is tried first and waits only after EAGAIN. A socket is watched for input from its
// first wait on, and for output from the first time its send buffer is full, so that an ordinary
// connection costs one epoll_ctl. A receive that does not fill its buffer has emptied the socket,
// so the next one waits for the edge without another system call.
#pragma once

#include <memory>
#include <vector>

#include "io/loop_engine.h"

struct epoll_event;

namespace h2server::io {

struct EpollLimits {
  // Size of a receive buffer: about four TLS records, large enough for an upload at full speed.
  std::size_t buffer_bytes = 64 * 1024;
  // Free buffers kept for reuse; the rest of a burst is freed.
  std::size_t buffers_kept_max = 16;
  // Operations that one socket may try at once in a turn, so that other sockets get theirs.
  std::uint8_t inline_operations_max = 16;
};

class EpollEngine final : public LoopEngine {
 public:
  static Result<std::unique_ptr<EpollEngine>> open(const EpollLimits& limits = {});
  ~EpollEngine() override;

  bool sends_files() const noexcept override { return true; }
  // Becomes readable when turn() has something to do, apart from its time.
  [[nodiscard]] int descriptor() const noexcept { return epoll_.get(); }

 private:
  // The socket of an epoll key. The generation tells a reused descriptor's events from stale ones.
  struct Slot {
    Socket* socket = nullptr;
    std::uint32_t generation = 0;
  };

  EpollEngine(const EpollLimits& limits, base::Fd epoll, base::Fd event);

  bool begin(Op& op) override;
  bool retry(Op& op) override;
  void interrupt(Op& op) override;
  void wait(int ms) override;
  void forget(Socket& socket) noexcept override;

  void dispatch(const epoll_event& event);
  bool attempt(Op& op);
  bool attempt_accept(Op& op);
  bool attempt_receive(ReceiveOp& op);
  bool attempt_send(SendOp& op);
  bool spend_inline(Socket& socket) noexcept;
  [[nodiscard]] int watch(Socket& socket, bool output);

  const std::uint8_t inline_operations_max_;
  base::Fd epoll_;
  std::vector<Slot> slots_;  // by descriptor
  std::uint32_t turn_ = 1;
};

}  // namespace h2server::io
