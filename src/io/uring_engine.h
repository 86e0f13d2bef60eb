// UringEngine: the engine on io_uring. Operations are queued and submitted together, once per turn.
//
// One multishot operation per listener accepts, and one per socket receives; they stay in the
// kernel between requests. The kernel takes receive buffers from a ring, so an idle connection
// holds none. A socket's first receive is tried at once, as are those of a socket whose peer sends
// more than is read. The kernel uses the memory of a send's or file operation's Op until it
// completes.
#pragma once

#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "io/loop_engine.h"
#include "io/uring_submissions.h"

struct io_uring;
struct io_uring_buf_ring;
struct io_uring_cqe;
struct io_uring_sqe;

namespace h2server::io {

struct UringLimits {
  unsigned submissions = 1024;  // queue size; a full queue is submitted early
  // Size of a receive buffer: almost two TLS records.
  std::size_t buffer_bytes = 32 * 1024;
  // Buffers provided to the kernel: few at first, so that they stay in the CPU cache. Doubled each
  // time they run out, up to `buffers_max` (a power of two).
  unsigned buffers = 32;
  unsigned buffers_max = 1024;
  static constexpr unsigned parts = 64;  // and so a part of the memory budget at most
  // After so long without running out, half of them do.
  std::int64_t buffers_shrink_ms = 10'000;
  // Unread buffers of a socket at which the engine cancels its multishot receive. From then on the
  // socket receives one buffer at a time, only while a reader waits. Before the cancellation takes
  // effect, one turn's data may arrive: the kernel fills up to 32 buffers of a socket at a time.
  std::size_t unread_buffers_max = 4;
};

class UringEngine final : public LoopEngine {
 public:
  // Returns a line for the operator that says why io_uring can't work here; empty if it can.
  static std::string obstacle();
  static Result<std::unique_ptr<UringEngine>> open(const UringLimits& limits = {});
  ~UringEngine() override;

  void run() override;
  [[nodiscard]] bool end_accepting(Socket& listener) override;
  bool pass(Engine& to, base::Fd& descriptor) override;
  base::Fd take_passed() override;
  int ring_descriptor() const noexcept override;
  bool sends_files() const noexcept override { return true; }

 private:
  struct Completion;

  static std::string find_obstacle();

  UringEngine(const UringLimits& limits, base::Fd event);
  [[nodiscard]] Result<void> set_up();

  bool begin(Op& op) override;
  bool retry(Op& op) override;
  void interrupt(Op& op) override;
  void wait(int ms) override;
  void forget(Socket& socket) noexcept override;

  bool receive_at_once(ReceiveOp& op);
  bool receive_directly(ReceiveOp& op);
  bool begin_multishot(Op& op);
  void submit_send(SendOp& op);
  bool attempt_file(SendOp& op);
  void on_operation(Op& op, int result);
  void submit_file(FileOp& op);
  io_uring_sqe& next_entry();
  void cancel_in_kernel(std::uint64_t key);

  void dispatch(const Completion& completion);
  void on_multishot(UringSlot& slot, const Completion& completion);
  void keep_arrived(UringSlot& slot, const Completion& completion);
  void deliver(UringSlot& slot);
  bool take_arrived(UringSlot& slot, Op& op);
  void arm(UringSlot& slot);
  void release(UringSlot& slot);
  UringSlot& slot_of(Socket& socket, Op::Kind kind);

  void provide_buffers();
  void get_back();
  void feed_starved();
  void want_fewer_buffers() noexcept;
  void watch_event();
  void send_descriptor(int ring, int descriptor);

  const UringLimits limits_;
  std::unique_ptr<io_uring> ring_;
  UringSubmissions submissions_;
  io_uring_buf_ring* buffer_ring_ = nullptr;
  std::vector<char*> provided_;              // by buffer number; null: the number is free
  std::vector<std::uint16_t> free_numbers_;  // indices of provided_
  unsigned wanted_;                          // number of buffers the kernel should have
  std::int64_t wanted_ms_ = 0;               // when that was changed
  std::deque<UringSlot> slots_;              // a deque, because slots must not move
  UringSlot* free_slots_ = nullptr;
  std::vector<UringSlot*> starved_;  // to be armed again once there are buffers
  std::size_t forgotten_ = 0;        // sockets whose operation is still in the kernel
  std::vector<base::Fd> passed_;     // by other engines
  bool passed_on_again_ = false;
};

}  // namespace h2server::io
