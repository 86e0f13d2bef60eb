// LoopEngine: the common base of the engines with an event loop. Has pending operations, deadlines,
// cancellation, clocks and buffers. Derived classes implement waiting for the kernel.
#pragma once

#include <array>
#include <atomic>
#include <memory>
#include <vector>

#include "base/memory/memory_budget.h"
#include "base/timer_wheel.h"
#include "io/engine.h"
#include "io/file_threads.h"

namespace h2server::io {

class LoopEngine : public Engine {
 public:
  ~LoopEngine() override;

  bool start(Op& op) final;
  void cancel(Op& op) final;
  void cancel_all() final;
  void run() override;
  // For a thread that has another loop. Handles what is ready, without waiting, and returns in how
  // many ms to call this again if the engine's descriptor does not become readable before; -1: only
  // then.
  int turn();
  // Called by each wait and by run(), so now_ms() is when the turn began. A thread that was busy
  // elsewhere calls it before it starts operations, whose deadlines would otherwise count from
  // before.
  void read_clocks() noexcept;
  void stop() noexcept final { stopping_ = true; }
  void wake() noexcept final;
  bool has_loop() const noexcept final { return true; }
  void arm_timer(base::Timer& timer, std::int64_t due_ms) final { timers_.arm(timer, due_ms); }
  void disarm_timer(base::Timer& timer) noexcept final { timers_.disarm(timer); }
  Lease borrow() final { return {*this, take_buffer(), buffer_bytes_}; }
  void free_spare_buffers() noexcept final;
  std::int64_t now_ms() const noexcept final { return now_ms_; }
  std::int64_t unix_seconds() const noexcept final { return unix_seconds_; }
  std::int64_t turn_ms() const noexcept final;

 protected:
  struct BufferLimits {
    std::size_t bytes;     // of each
    std::size_t kept_max;  // free ones that are kept for reuse
    std::size_t reserved;  // a worker always has so many: only more count as memory of clients
  };
  // `event` is an eventfd for wake().
  LoopEngine(base::Fd event, const BufferLimits& buffers);

  // Never read: each write triggers a new event.
  [[nodiscard]] int event() const noexcept { return event_.get(); }
  // Called after the wait: from here on wake() costs no system call. Returns true if wake() was
  // called; woken() is then due.
  [[nodiscard]] bool awake() noexcept;

  // Starts an operation on a socket or a file. Returns true if it completed and its result is set.
  virtual bool begin(Op& op) = 0;
  // Retries a queued operation. Returns as begin().
  virtual bool retry(Op& op) = 0;
  // Asks the kernel to end an operation whose memory it may be using.
  virtual void interrupt(Op& op) = 0;
  // Submits queued operations, waits for at most `ms` (-1: no limit) and handles completions. Calls
  // awake() and read_clocks() after the wait.
  virtual void wait(int ms) = 0;

  // Makes `op` pending; its waiter is resumed when it completes.
  void suspend(Op& op);
  void resume(Op& op, int result);
  // Completes an operation that was state.in_kernel.
  void complete(Op& op, int result);
  // Makes the call on a thread, because it may wait for the disk.
  void begin_on_thread(FileOp& op);
  // Queues `op` for the next run_queued().
  void enqueue(Op& op);
  // Handles a wake(): completes file operations and resumes the WokenOp.
  void woken();

  [[nodiscard]] char* take_buffer();
  void take_back(char* buffer) noexcept final;
  [[nodiscard]] std::size_t buffer_bytes() const noexcept { return buffer_bytes_; }
  void disarm(Socket& socket) noexcept { timers_.disarm(socket.state.timer); }

 private:
  // Wakes the engine when memory needs care. An object of its own, because other threads may
  // call it while the engine is constructed or destroyed.
  class MemoryBell final : public base::MemoryWatcher {
   public:
    explicit MemoryBell(LoopEngine& engine) noexcept : engine_(engine) {
      base::MemoryBudget::add(*this);
    }
    ~MemoryBell() override { base::MemoryBudget::remove(*this); }
    void memory_needs_care() noexcept override { engine_.LoopEngine::wake(); }

   private:
    LoopEngine& engine_;
  };

  void free_buffer(std::unique_ptr<char[]> buffer) noexcept;
  void detach(Op& op) noexcept;
  void arm(Op& op);
  void expire(Socket& socket);
  void end_early(Op& op, int error);
  void run_queued();
  void run_once(int ms);
  void end_turn();
  void finish_files();
  void withdraw(FileOp& op);
  FileThreads& threads_for(const FileOp& op) noexcept;
  [[nodiscard]] int wait_ms() noexcept;
  [[nodiscard]] std::array<FileThreads*, 4> all_threads() noexcept {
    return {&file_threads_, &call_threads_, &long_threads_, &slow_threads_};
  }

  const base::Fd event_;
  std::atomic<bool> wake_requested_{false};
  std::atomic<bool> sleeping_{false};  // wake() writes to the event only if true
  const std::size_t buffer_bytes_;
  const std::size_t buffers_kept_max_;
  const std::size_t buffers_reserved_;
  std::vector<std::unique_ptr<char[]>> buffers_;
  std::size_t buffers_alive_ = 0;  // lent ones, too
  std::int64_t now_ms_;
  std::int64_t unix_seconds_;
  base::TimerWheel timers_;
  Op* pending_ = nullptr;
  std::vector<Op*> queued_;
  std::vector<Op*> running_queue_;
  WokenOp* woken_ = nullptr;
  bool stopping_ = false;
  bool cancelling_ = false;
  bool was_woken_ = false;
  std::int64_t turns_ = 0;     // that have begun
  std::size_t files_out_ = 0;  // operations with the threads below
  FileThreads file_threads_{*this};
  // For FileCall::run that does more than read. Separate, because a blocked disk write may occupy
  // these for long.
  FileThreads call_threads_{*this};
  // For those of them that take long, such as copies of whole files.
  FileThreads long_threads_{*this};
  // For those of them that wait for a slow file system, which may not respond at all.
  FileThreads slow_threads_{*this};
  MemoryBell memory_bell_{*this};
};

// Returns true for an accept(2) error of the connection to be accepted, not of the listener.
[[nodiscard]] bool concerns_one_connection(int error) noexcept;

}  // namespace h2server::io
