// Transfer: an exchange on a stream of HTTP/2, and the part of its request's body that has arrived
// but was not read yet. Bounded by the flow-control windows.
#pragma once

#include <cstdint>

#include "base/buffer_chain.h"
#include "coro/event.h"
#include "http/exchange.h"
#include "http/h2/stream.h"

namespace h2server::http::h2 {

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
  base::BufferChain arrived;  // content that nobody has read
  std::size_t lent = 0;       // of arrived: what the handler is looking at
  std::uint64_t dropped = 0;  // content that nobody will read
  coro::Event readable;       // arrived, ended or closed changed
  coro::Event taken;          // the session has sent what was offered, or the stream is closed
  unsigned running = 0;       // coroutines that hold on to this
  bool reads = false;         // a handler may still read the body
  bool closed = false;        // the stream is gone
  bool unwound = false;       // at the connection's end: its coroutines have been told
  Transfer* next = nullptr;   // of the connection's
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
    reads = closed = unwound = owes_continue = false;
    next = previous = nullptr;
  }
};

}  // namespace h2server::http::h2
