// An engine for a thread that does one thing at a time: every operation completes inside start(),
// which waits for its descriptor in poll(2). So nobody who awaits is ever suspended, and there is
// no loop to run.
//
// It neither accepts nor reads and writes at the same time: HTTP/2 needs another one.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <vector>

#include "io/engine.h"

namespace h2server::io {

struct BlockingLimits {
  // A receive's buffer: as EpollLimits.
  std::size_t buffer_bytes = 64 * 1024;
  // Kept warm: TLS uses two at once, for what arrived and for what that means.
  std::size_t buffers_kept_max = 2;
  // A peer that always has more to say would never let us wait, and so not notice who stops us.
  std::uint32_t look_ms = 50;
};

// Descriptors that become readable, and stay so, when somebody asks for something. They are polled
// and never read, so any number of threads and processes may share them. -1: nobody will ask.
struct Interrupts {
  int drain = -1;
  int cancel = -1;
};

class BlockingEngine final : public Engine {
 public:
  // `on_drain` is called once, inside of start(), when `drain` was asked for: it may cancel the
  // operation at hand. `cancel` cancels that and all that follow.
  BlockingEngine(const Interrupts& interrupts, std::function<void()> on_drain,
                 const BlockingLimits& limits = {});
  ~BlockingEngine() override;

  bool start(Op& op) override;
  void cancel(Op& op) override;
  void cancel_all() override { cancelling_ = true; }
  // cancel_all() when now_ms() will be that.
  void cancel_all_at(std::int64_t due_ms) noexcept { cancel_due_ms_ = due_ms; }
  void run() override {}
  void stop() noexcept override {}
  void wake() noexcept override {}
  bool sends_files() const noexcept override { return true; }
  Lease borrow() override;
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
  void forget(Socket&) noexcept override {}

  const BlockingLimits limits_;
  Interrupts interrupts_;
  const std::function<void()> on_drain_;
  std::vector<std::unique_ptr<char[]>> buffers_;
  Op* current_ = nullptr;
  std::int64_t cancel_due_ms_ = never;
  std::int64_t look_due_ms_ = 0;
  bool cancelling_ = false;
};

}  // namespace h2server::io
