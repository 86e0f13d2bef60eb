// BlockingEngine: for a thread that does one operation at a time. Every operation completes inside
// start(), which waits for the descriptor in poll(2). An awaiting coroutine never suspends, and
// there is no loop to run.
//
// It does not accept connections and cannot read and write at the same time, so HTTP/2 needs
// another engine.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <vector>

#include "io/engine.h"

namespace h2server::io {

struct BlockingLimits {
  // Size of a receive buffer, as in EpollLimits.
  std::size_t buffer_bytes = 64 * 1024;
  // Free buffers kept for reuse. TLS uses two at once: one for ciphertext, one for plaintext.
  std::size_t buffers_kept_max = 2;
  // Interval in ms at which the interrupts are polled while operations complete without waiting. A
  // peer that always has more to send could otherwise prevent a drain or cancel.
  std::uint32_t look_ms = 50;
};

// Descriptors that become readable, and stay readable, to request a drain or a cancel. They are
// polled and never read, so any number of threads and processes may share them. -1: not used.
struct Interrupts {
  int drain = -1;
  int cancel = -1;
};

class BlockingEngine final : public Engine {
 public:
  // Calls `on_drain` once, inside start(), after `drain` becomes readable. It may cancel the
  // current operation. `cancel` cancels the current operation and all later ones.
  BlockingEngine(const Interrupts& interrupts, std::function<void()> on_drain,
                 const BlockingLimits& limits = {});
  ~BlockingEngine() override;

  bool start(Op& op) override;
  void cancel(Op& op) override;
  void cancel_all() override { cancelling_ = true; }
  // Has the effect of cancel_all() on waits at or after `due_ms`, a time of now_ms().
  void cancel_all_at(std::int64_t due_ms) noexcept { cancel_due_ms_ = due_ms; }
  // Sets what loop() returns.
  void set_loop(std::function<Engine*()> loop) { loop_ = std::move(loop); }
  Engine* loop() override { return loop_ ? loop_() : nullptr; }
  void run() override {}
  void stop() noexcept override {}
  void wake() noexcept override {}
  bool sends_files() const noexcept override { return true; }
  Lease borrow() override;
  void free_spare_buffers() noexcept override;
  std::int64_t now_ms() const noexcept override;
  std::int64_t unix_seconds() const noexcept override;

 private:
  static constexpr std::int64_t never = std::numeric_limits<std::int64_t>::max();

  int perform(Op& op);
  int attempt(Op& op);
  int attempt_receive(ReceiveOp& op);
  int wait(const Op& op, int fd, short events, std::int64_t due_ms);
  bool poll(int fd, short events, std::int64_t ms);
  void take_back(char* buffer) noexcept override;
  void free_buffer(std::unique_ptr<char[]> buffer) noexcept;
  void forget(Socket&) noexcept override {}

  const BlockingLimits limits_;
  Interrupts interrupts_;
  const std::function<void()> on_drain_;
  std::function<Engine*()> loop_;
  std::vector<std::unique_ptr<char[]>> buffers_;
  std::size_t buffers_alive_ = 0;  // lent ones, too; only more than are kept count as of clients
  Op* current_ = nullptr;
  std::int64_t cancel_due_ms_ = never;
  std::int64_t look_due_ms_ = 0;
  bool cancelling_ = false;
};

}  // namespace h2server::io
