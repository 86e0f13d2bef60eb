// The engine on edge-triggered epoll.
//
// An operation is tried first and waits only after EAGAIN. A socket is watched for input from its
// first wait on, and for output from the first time its send buffer was full, so that an ordinary
// connection costs one epoll_ctl. A receive that did not fill its buffer emptied the socket: the
// next one waits for the edge instead of asking the kernel again.
#pragma once

#include <memory>
#include <vector>

#include "io/loop_engine.h"

struct epoll_event;

namespace h2server::io {

struct EpollLimits {
  // A receive's buffer: large enough for an upload at full speed, four TLS records.
  std::size_t buffer_bytes = 64 * 1024;
  // Buffers kept warm; the rest of a burst goes back to the heap.
  std::size_t buffers_kept_max = 16;
  // Operations of one socket that complete at once in a turn, before the others get theirs.
  std::uint8_t inline_operations_max = 16;
};

class EpollEngine final : public LoopEngine {
 public:
  static Result<std::unique_ptr<EpollEngine>> open(const EpollLimits& limits = {});
  ~EpollEngine() override;

  bool sends_files() const noexcept override { return true; }

 private:
  // Whose events an epoll key names; the generation tells a reused descriptor's from stale ones.
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
