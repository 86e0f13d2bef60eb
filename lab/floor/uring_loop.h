// The floor on io_uring: one io_uring_enter() a turn, for all connections. Accepting and receiving
// are armed once; what is received lies in buffers that the ring lends, and goes back at once. One
// thread makes it, runs it and owns every connection that it accepts.
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
  // open() does this.
  explicit UringLoop(const LoopOptions& options);
  ~UringLoop();

  // Until options.stop is readable. The error is a line for the operator.
  Result<void, std::string> run();

 private:
  // What the kernel does with a connection's output.
  //   trying    it sends at once, while it takes the submission, and completes only if it could
  //   not:
  //             so success costs no completion, and wakes nobody. The usual case.
  //   waiting   it sends as there is room, however long that takes, and completes.
  enum class Sending { nothing, trying, waiting };
  struct Client {
    Client(base::Fd accepted, const LoopOptions& options, TlsScratch& scratch)
        : socket(std::move(accepted)), connection(options, scratch) {}
    [[nodiscard]] bool over() const noexcept { return connection.ended || connection.finished(); }

    base::Fd socket;
    Connection connection;
    bool receiving = false;  // the kernel has an operation of this kind
    Sending sending = Sending::nothing;
    bool to_answer = false;  // in to_answer_
    bool broken = false;     // it takes no more
    bool shut = false;       // it has been told to end both
    msghdr message{};
  };
  struct Completion;

  Result<void, std::string> set_up();
  io_uring_sqe* next_entry();
  void give_buffer(std::uint16_t number) noexcept;

  // False: it is time to stop.
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
  std::vector<int> to_answer_;  // descriptors of whom something may be sent at the turn's end
  std::vector<int> trying_;     // descriptors whose sends are in the next turn's
  std::vector<int> tried_;      // and in this turn's submission
  OutputPool outputs_;
  TlsScratch scratch_;
};

}  // namespace h2server::lab::floor
