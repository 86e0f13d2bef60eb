// Transfer: an exchange on a stream of HTTP/2, and the part of its request's body that has arrived
// but was not read yet. Bounded by the flow-control windows.
#pragma once

#include <cstdint>

#include "base/buffer_chain.h"
#include "base/pace.h"
#include "coro/event.h"
#include "http/exchange.h"
#include "http/h2/stream.h"

namespace h2server::http::h2 {

class Connection;
struct Transfer;

// The body of a transfer's request, as its handler and the source of its response's body read it.
class IncomingBody final : public BodySource {
 public:
  // Both outlive the exchange.
  void bind(Connection& connection, Transfer& transfer) noexcept {
    connection_ = &connection;
    transfer_ = &transfer;
  }
  Task<Result<std::string_view>> read() override;
  std::span<const Field> trailers() const noexcept override;

 private:
  Connection* connection_ = nullptr;
  Transfer* transfer_ = nullptr;
};

struct Transfer : Exchange {
  std::uint32_t id = 0;  // of the stream

  // The session's.
  Fields trailers;              // of the request
  bool head_too_large = false;  // fields were dropped
  bool ended = false;           // the request is whole
  bool owes_continue = false;   // the client waits for 100 (RFC 9110, 10.1.1)
  bool stalled = false;         // the session waits for body_offered()
  Stream stream;                // the native session's

  // The connection's.
  IncomingBody incoming;
  base::Pace receiving{0, 1};        // of the request's body, while somebody waits for it
  base::Pace sending{0, 1};          // of the response's body, while it waits for a window
  std::uint64_t received_bytes = 0;  // since the paces were looked at
  std::uint64_t sent_bytes = 0;      // of the response's body, when they were
  bool overdue = false;              // the client has moved too little for too long
  bool timed_out = false;            // which its reader learns
  base::BufferChain arrived;         // content that nobody has read
  std::size_t lent = 0;              // of arrived: what the handler is looking at
  std::uint64_t dropped = 0;         // content that nobody will read
  coro::Event readable;              // arrived, ended or closed changed
  coro::Event taken;         // the session has sent what was offered, or the stream is closed
  unsigned running = 0;      // coroutines that hold on to this
  bool reads = false;        // a handler may still read the body
  bool closed = false;       // the stream is gone
  bool unwound = false;      // at the connection's end: its coroutines have been told
  Transfer* next = nullptr;  // of the connection's
  Transfer* previous = nullptr;

  void clear() noexcept {
    Exchange::clear();
    id = 0;
    trailers.clear();
    head_too_large = ended = stalled = false;
    stream = Stream();
    arrived.clear();
    lent = 0;
    dropped = 0;
    readable.clear();
    taken.clear();
    reads = closed = unwound = owes_continue = overdue = timed_out = false;
    received_bytes = sent_bytes = 0;
    next = previous = nullptr;
  }
};

}  // namespace h2server::http::h2
