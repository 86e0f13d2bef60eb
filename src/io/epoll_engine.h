// The engine on edge-triggered epoll.
//
// An operation is tried first and waits only after EAGAIN. A socket is watched for input from its
// first wait on, and for output from the first time its send buffer was full, so that an ordinary
// connection costs one epoll_ctl. A receive that did not fill its buffer emptied the socket: the
// next one waits for the edge instead of asking the kernel again.
#pragma once

#include <atomic>
#include <memory>
#include <vector>

#include "base/timer_wheel.h"
#include "io/engine.h"

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

class EpollEngine final : public Engine {
 public:
  static Result<std::unique_ptr<EpollEngine>> open(const EpollLimits& limits = {});
  ~EpollEngine() override;

  bool start(Op& op) override;
  void cancel(Op& op) override;
  void cancel_all() override;
  void run() override;
  void stop() noexcept override { stopping_ = true; }
  void wake() noexcept override;
  Lease borrow() override;
  std::int64_t now_ms() const noexcept override { return now_ms_; }
  std::int64_t unix_seconds() const noexcept override { return unix_seconds_; }

 private:
  // Whose events an epoll key names; the generation tells a reused descriptor's from stale ones.
  struct Slot {
    Socket* socket = nullptr;
    std::uint32_t generation = 0;
  };

  EpollEngine(const EpollLimits& limits, base::Fd epoll, base::Fd event);

  void take_back(char* buffer) noexcept override;
  void forget(Socket& socket) noexcept override;

  void turn();
  void dispatch(const epoll_event& event);
  void run_queued();
  void read_clocks() noexcept;

  bool attempt(Op& op);
  bool attempt_accept(Op& op);
  bool attempt_receive(ReceiveOp& op);
  bool attempt_send(SendOp& op);
  bool spend_inline(Socket& socket) noexcept;
  [[nodiscard]] int watch(Socket& socket, bool output);
  bool suspend(Op& op);
  bool finish_at_once(Op& op, int result) noexcept;
  void resume(Op& op, int result);
  void detach(Op& op) noexcept;
  void arm(Op& op);
  void expire(Socket& socket);
  void enqueue(Op& op);

  const EpollLimits limits_;
  base::Fd epoll_;
  base::Fd event_;           // eventfd
  std::vector<Slot> slots_;  // by descriptor
  std::vector<Op*> queued_;
  std::vector<Op*> running_queue_;
  std::vector<std::unique_ptr<char[]>> buffers_;
  std::int64_t now_ms_;
  std::int64_t unix_seconds_;
  base::TimerWheel timers_;
  SleepOp* sleepers_ = nullptr;
  WokenOp* woken_ = nullptr;
  std::uint32_t turn_ = 1;
  bool stopping_ = false;
  bool cancelling_ = false;
  bool was_woken_ = false;
  std::atomic<bool> wake_asked_{false};
};

}  // namespace h2server::io
