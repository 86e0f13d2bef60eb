// A protocol on one connection, as a machine from bytes to results: it does no I/O and reads no
// clock.
//
// Belongs to a Session, which hands it what arrives and sends what it appends.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>

#include "base/buffer_chain.h"
#include "load/errors.h"
#include "load/request_plan.h"

namespace h2server::lab::load {

// A request under way.
struct Exchange {
  std::uint64_t number = 0;
  std::int64_t intended_ns = 0;  // when it should have been sent
  std::int64_t sent_ns = 0;      // when it was
};

// What became of it.
struct Outcome {
  ErrorKind error = ErrorKind::none;
  int status = 0;
  std::uint64_t body_bytes_in = 0;
  std::uint64_t body_bytes_out = 0;
};

class ProtocolUser {
 public:
  // May submit the next exchange at once.
  virtual void on_outcome(const Exchange& exchange, const Outcome& outcome) = 0;

 protected:
  ~ProtocolUser() = default;
};

class Protocol {
 public:
  // Of those that wait for the socket: more would be memory, less would wait for a turn.
  static constexpr std::size_t out_bytes_max = 256 * 1024;

  virtual ~Protocol() = default;

  // The connection is open: produce() has what it begins with.
  virtual void begin() = 0;
  // Whether the peer has said what it takes.
  [[nodiscard]] virtual bool ready() const noexcept = 0;
  // How many exchanges it would take now.
  [[nodiscard]] virtual std::size_t room() const noexcept = 0;
  [[nodiscard]] virtual std::size_t under_way() const noexcept = 0;
  virtual void submit(const Exchange& exchange, base::BufferChain& out) = 0;
  // An error is one of the connection.
  [[nodiscard]] virtual ErrorKind receive(std::string_view bytes) = 0;
  // Appends more of what waits to be sent, while `out` is short. An error is one of the connection,
  // of which the peer is told with what was appended.
  [[nodiscard]] virtual ErrorKind produce(base::BufferChain& out) = 0;
  // The peer has ended the connection: completes what ends so. Otherwise the exchanges under way
  // stay, and the answer is what has happened to them; none when there are none.
  [[nodiscard]] virtual ErrorKind end() = 0;
  // Gives up all that is under way.
  virtual void fail(ErrorKind error) = 0;
  // Nothing more will come of this connection.
  [[nodiscard]] virtual bool over() const noexcept = 0;
};

struct Http2Options {
  std::uint32_t streams = 1;
  unsigned window_bits = 30;
};

// `plan` and `user` outlive it.
std::unique_ptr<Protocol> make_h1(RequestPlan& plan, ProtocolUser& user);
std::unique_ptr<Protocol> make_h2(RequestPlan& plan, ProtocolUser& user,
                                  const Http2Options& options);

}  // namespace h2server::lab::load
