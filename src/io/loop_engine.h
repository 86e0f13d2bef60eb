// What the engines with an event loop have in common: operations that are pending, deadlines,
// cancelling, clocks and buffers. Those that come after it say how to wait for the kernel.
#pragma once

#include <atomic>
#include <memory>
#include <vector>

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
  void stop() noexcept final { stopping_ = true; }
  void wake() noexcept final;
  Lease borrow() final { return {*this, take_buffer(), buffer_bytes_}; }
  std::int64_t now_ms() const noexcept final { return now_ms_; }
  std::int64_t unix_seconds() const noexcept final { return unix_seconds_; }

 protected:
  // `event`: an eventfd, for wake(). Of `buffers_kept_max` buffers the memory is kept for use
  // again.
  LoopEngine(base::Fd event, std::size_t buffer_bytes, std::size_t buffers_kept_max);

  // It is never read: each write is an event of its own.
  [[nodiscard]] int event() const noexcept { return event_.get(); }
  // The wait is over: from here on wake() costs no system call. True: somebody called it, so that
  // woken() is due.
  [[nodiscard]] bool awake() noexcept;

  // Gets an operation on a socket or a file under way. True: it completed, its result is set.
  virtual bool begin(Op& op) = 0;
  // Tries once more an operation that was queued. True: as begin().
  virtual bool retry(Op& op) = 0;
  // For an operation whose memory the kernel may use: asks the kernel to end it.
  virtual void interrupt(Op& op) = 0;
  // Submits what has gathered, waits for at most that long (-1: for ever) and deals with whatever
  // completed; calls awake() and refreshes the clocks after the wait.
  virtual void wait(int ms) = 0;

  // Makes it pending; from now on it is resumed when it completes.
  void suspend(Op& op);
  void resume(Op& op, int result);
  // For an operation that was state.in_kernel.
  void complete(Op& op, int result);
  // Has a thread make the call, which may wait for the disk.
  void begin_on_thread(FileOp& op);
  // For the next turn.
  void enqueue(Op& op);
  // Somebody called wake().
  void woken();

  void read_clocks() noexcept;
  [[nodiscard]] char* take_buffer();
  void take_back(char* buffer) noexcept final;
  [[nodiscard]] std::size_t buffer_bytes() const noexcept { return buffer_bytes_; }
  void disarm(Socket& socket) noexcept { timers_.disarm(socket.state.timer); }

 private:
  void detach(Op& op) noexcept;
  void arm(Op& op);
  void expire(Socket& socket);
  void end_early(Op& op, int error);
  void run_queued();
  void finish_files();
  void withdraw(FileOp& op);
  FileThreads& threads_for(const FileOp& op) noexcept;
  [[nodiscard]] int wait_ms() noexcept;

  const base::Fd event_;
  std::atomic<bool> wake_asked_{false};
  std::atomic<bool> sleeping_{false};  // only then a wake needs the event
  const std::size_t buffer_bytes_;
  const std::size_t buffers_kept_max_;
  std::vector<std::unique_ptr<char[]>> buffers_;
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
  std::size_t files_out_ = 0;  // with the threads below
  FileThreads file_threads_{*this};
  // Apart from them, since a disk that can't be written to may hold these for long.
  FileThreads call_threads_{*this};
};

// accept(2): errors of the connection that was to be accepted, not of the listener.
[[nodiscard]] bool concerns_one_connection(int error) noexcept;

}  // namespace h2server::io
