// The engine on io_uring: operations are queued and go to the kernel together, once a turn.
//
// A listener is accepted from and a socket received from by one multishot operation each, which
// stays in the kernel between requests; what arrives lies in buffers that the kernel takes from a
// ring, so an idle connection holds none. Only a socket's first receive is tried at once. Sends and
// file operations work on the memory of their Op, which the kernel gives back with the completion.
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
  unsigned submissions = 1024;  // queued before they go to the kernel ahead of the turn's end
  // A receive's buffer: a TLS record and a half.
  std::size_t buffer_bytes = 32 * 1024;
  // Buffers with the kernel: few, so that they stay in the processor's cache, and more, up to
  // `buffers_max` (a power of two), each time when they did not suffice.
  unsigned buffers = 32;
  unsigned buffers_max = 1024;
  // What a socket may have received that nobody reads: then the kernel is asked to stop, and from
  // then on it receives a buffer at a time, when somebody waits. What came in between is a turn's:
  // the kernel fills 32 buffers of a socket before it goes on to others.
  std::size_t unread_buffers_max = 4;
};

class UringEngine final : public LoopEngine {
 public:
  // Why it can't work here, for the operator; empty: it can.
  static std::string obstacle();
  static Result<std::unique_ptr<UringEngine>> open(const UringLimits& limits = {});
  ~UringEngine() override;

  void run() override;
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
  void watch_event();
  void send_descriptor(int ring, int descriptor);

  const UringLimits limits_;
  std::unique_ptr<io_uring> ring_;
  UringSubmissions submissions_;
  io_uring_buf_ring* buffer_ring_ = nullptr;
  std::vector<char*> provided_;              // by number; null: the number is free
  std::vector<std::uint16_t> free_numbers_;  // of provided_
  unsigned wanted_;                          // buffers that the kernel should have
  std::deque<UringSlot> slots_;              // they do not move
  UringSlot* free_slots_ = nullptr;
  std::vector<UringSlot*> starved_;  // to be armed again when there are buffers
  std::size_t forgotten_ = 0;        // sockets whose operation is still in the kernel
  std::vector<base::Fd> passed_;     // from other engines
  bool passed_on_again_ = false;
};

}  // namespace h2server::io
