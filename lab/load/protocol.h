// A protocol on one connection as a state machine. Does no I/O and reads no clock.
//
// Owned by a Session, which passes it the received bytes and sends what it appends.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>

#include "base/memory/buffer_chain.h"
#include "load/errors.h"
#include "load/request_plan.h"

namespace h2server::lab::load {

// A request in flight.
struct Exchange {
  std::uint64_t number = 0;
  std::int64_t intended_ns = 0;  // when it should have been sent
  std::int64_t sent_ns = 0;      // when it was sent
};

// The result of an exchange.
struct Outcome {
  ErrorKind error = ErrorKind::none;
  int status = 0;
  std::uint64_t body_bytes_in = 0;
  std::uint64_t body_bytes_out = 0;
};

class ProtocolUser {
 public:
  // May submit the next exchange from within the call.
  virtual void on_outcome(const Exchange& exchange, const Outcome& outcome) = 0;

 protected:
  ~ProtocolUser() = default;
};

class Protocol {
 public:
  // Limit of the bytes that wait for the socket. More would waste memory, less would cost turns.
  static constexpr std::size_t out_bytes_max = 256 * 1024;

  virtual ~Protocol() = default;

  // Called when the connection is open. produce() then returns the opening bytes.
  virtual void begin() = 0;
  // Returns true if the peer's limits are known.
  [[nodiscard]] virtual bool ready() const noexcept = 0;
  // Returns how many exchanges may be submitted now.
  [[nodiscard]] virtual std::size_t room() const noexcept = 0;
  [[nodiscard]] virtual std::size_t under_way() const noexcept = 0;
  virtual void submit(const Exchange& exchange, base::BufferChain& out) = 0;
  // Returns an error of the connection, or none.
  [[nodiscard]] virtual ErrorKind receive(std::string_view bytes) = 0;
  // Appends more pending output while `out` is short. Returns an error of the connection, or none.
  // The appended bytes report the error to the peer.
  [[nodiscard]] virtual ErrorKind produce(base::BufferChain& out) = 0;
  // Called when the peer has ended the connection. Completes an exchange that ends this way.
  // Returns the error of the exchanges still in flight, or none if there are none.
  [[nodiscard]] virtual ErrorKind end() = 0;
  // Fails all exchanges in flight.
  virtual void fail(ErrorKind error) = 0;
  // Returns true if the connection cannot be used for more exchanges.
  [[nodiscard]] virtual bool over() const noexcept = 0;
};

enum class ProtocolName : std::uint8_t { h1, h2, spdy };

// Returns the name in TLS (RFC 7301).
constexpr std::string_view alpn_of(ProtocolName protocol) noexcept {
  switch (protocol) {
    case ProtocolName::h1:
      return "http/1.1";
    case ProtocolName::h2:
      return "h2";
    case ProtocolName::spdy:
      return "spdy/3.1";
  }
  return {};
}

// For protocols with streams.
struct StreamOptions {
  std::uint32_t streams = 1;
  unsigned window_bits = 30;
};

// `plan` and `user` must outlive the protocol.
std::unique_ptr<Protocol> make_h1(RequestPlan& plan, ProtocolUser& user);
std::unique_ptr<Protocol> make_h2(RequestPlan& plan, ProtocolUser& user,
                                  const StreamOptions& options);
std::unique_ptr<Protocol> make_spdy(RequestPlan& plan, ProtocolUser& user,
                                    const StreamOptions& options);
// One of them.
std::unique_ptr<Protocol> make_protocol(ProtocolName name, RequestPlan& plan, ProtocolUser& user,
                                        const StreamOptions& options);

}  // namespace h2server::lab::load
