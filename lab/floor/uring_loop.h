// io_uring loop of the floor server: one io_uring_enter() per turn for all connections. Accept is
// multishot, and so is receive unless connections end after one response. The ring provides the
// receive buffers and gets them back at once. One thread creates and runs the loop and owns every
// connection that it accepts.
#pragma once

#include <sys/socket.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/fd.h"
#include "floor/connection.h"
#include "h2server/result.h"

struct io_uring;
struct io_uring_buf_ring;
struct io_uring_sqe;

namespace h2server::lab::floor {

class UringLoop {
 public:
  static Result<std::unique_ptr<UringLoop>, std::string> open(const LoopOptions& options);
  // Use open().
  explicit UringLoop(const LoopOptions& options);
  ~UringLoop();

  // Runs until options.stop is readable. The error is a message for the operator.
  Result<void, std::string> run();

 private:
  // State of a connection's send.
  //   trying    non-blocking; completes only on failure, so success costs no completion. The usual
  //             case.
  //   waiting   sends as room becomes available, then completes.
  enum class Sending { nothing, trying, waiting };
  struct Client {
    Client(base::Fd accepted, const LoopOptions& options, TlsScratch& scratch)
        : socket(std::move(accepted)), connection(options, scratch) {}
    [[nodiscard]] bool over() const noexcept { return connection.ended || connection.finished(); }

    base::Fd socket;
    Connection connection;
    bool receiving = false;  // a receive is in flight
    Sending sending = Sending::nothing;
    bool to_answer = false;  // in to_answer_
    bool broken = false;     // the client accepts no more
    bool shut = false;       // shutdown() was called
    msghdr message{};
  };
  struct Completion;

  Result<void, std::string> set_up();
  io_uring_sqe* next_entry();
  void give_buffer(std::uint16_t number) noexcept;

  // Returns false if the loop must stop.
  Result<bool, std::string> complete(const Completion& completion);
  Result<void, std::string> accepted(const Completion& completion);
  void received(Client& client, const Completion& completion);
  void sent(Client& client, const Completion& completion);

  void arm_accept();
  void arm_receive(Client& client);
  void answer_later(Client& client);
  void settle();
  void answer();
  void send_more(Client& client);
  void send_rest(Client& client);
  io_uring_sqe* prepare_send(Client& client, int more_flags);
  void end_if_idle(Client& client);

  const LoopOptions options_;
  std::unique_ptr<io_uring> ring_;
  bool ring_open_ = false;
  io_uring_buf_ring* buffer_ring_ = nullptr;
  std::vector<char> buffers_;
  std::vector<std::unique_ptr<Client>> clients_;  // by descriptor
  std::vector<int> to_answer_;                    // descriptors to answer at the end of the turn
  std::vector<int> trying_;                       // descriptors with a try in the next submission
  std::vector<int> tried_;                        // descriptors with a try in the last submission
  OutputPool outputs_;
  TlsScratch scratch_;
};

}  // namespace h2server::lab::floor
