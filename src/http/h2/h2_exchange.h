// H2Exchange: an exchange on an HTTP/2 stream, with the part of the request's body that has arrived
// and is not read yet, which the flow-control windows bound.
//
// Pooled: clear() prepares it for reuse. The session and the connection share it, on one thread.
#pragma once

#include <cstdint>
#include <string_view>

#include "base/memory/buffer_chain.h"
#include "base/pace.h"
#include "coro/event.h"
#include "http/exchange.h"
#include "http/h2/stream.h"

namespace h2server::http::h2 {

class Connection;
struct H2Exchange;

// The request's body, as read by the handler and by the source of the response's body.
class IncomingBody final : public BodySource, public coro::StopState::Observer {
 public:
  // Both must outlive the exchange.
  void bind(Connection& connection, H2Exchange& exchange) noexcept {
    connection_ = &connection;
    exchange_ = &exchange;
  }
  Task<Result<std::string_view>> read() override;
  void interrupt() noexcept override;
  void inform(int status, std::span<const Field> fields) override;
  void on_hook() noexcept override {}  // the connection always reads
  void on_stop() noexcept override;
  std::span<const Field> trailers() const noexcept override;

 private:
  Connection* connection_ = nullptr;
  H2Exchange* exchange_ = nullptr;
};

// How far an exchange is, as the connection sees it.
enum class Progress : std::uint8_t {
  begun,      // 100 is owed to a client that expects it
  receiving,  // it was sent, or the client did not wait
  responded,  // the response has begun
};

// The parts have different owners, which alone write to them.
struct H2Exchange : ExchangeState {
  // Either session.
  struct SessionPart {
    Fields trailers;  // of the request
    // Heads and trailers of the response whose bytes the session still refers to.
    std::uint32_t heads_queued = 0;
    bool head_too_large = false;    // fields were dropped
    bool ended = false;             // the request is complete
    bool expects_continue = false;  // the client waits for 100 (RFC 9110, 10.1.1)
    bool stalled = false;           // the session waits for body_offered()
    bool reset = false;             // by the server

    void clear() noexcept {
      trailers.clear();
      heads_queued = 0;
      head_too_large = ended = expects_continue = stalled = reset = false;
    }
  };
  // The connection, as it watches the client's pace.
  struct Pacing {
    base::Pace receiving{0, 1};        // of the request's body, while it is awaited
    base::Pace sending{0, 1};          // of the response's body, while it waits for a window
    std::uint64_t received_bytes = 0;  // since the last check
    std::uint64_t sent_bytes = 0;      // of the response's body, at the last check
    bool overdue = false;              // the client is below the minimum pace
    bool timed_out = false;            // reading the request's body fails with ETIMEDOUT
  };
  // The connection, as it runs handlers and passes bodies.
  struct Handling {
    // Content that the handler reads where it was received; it precedes what is in `arrived`.
    std::string_view direct;
    // Content not consumed yet. A byte on each of many streams takes little.
    base::BufferChain arrived{base::BufferChain::Begin::small};
    std::size_t lent = 0;        // first bytes of arrived, which the handler is reading
    std::uint64_t dropped = 0;   // discarded content, bytes
    coro::Event readable;        // arrived, ended, closed or timed_out changed
    coro::Event wanted;          // see SessionEvent::Kind::body_wanted; or the stream closed
    std::size_t head_bytes = 0;  // what the head holds, as the connection has counted it
    unsigned running = 0;        // coroutines that use this exchange
    bool shrunk = false;         // the head was given back
    Progress progress = Progress::begun;
    bool reads = false;          // the request's body may still be read
    bool interrupted = false;    // a read that waits fails with ECANCELED
    bool closed = false;         // the stream is closed
    bool unwound = false;        // at the connection's end: its coroutines were notified
    H2Exchange* next = nullptr;  // in the connection's list
    H2Exchange* previous = nullptr;

    [[nodiscard]] bool responded() const noexcept { return progress == Progress::responded; }

    void clear() noexcept {
      direct = {};
      arrived.clear();
      lent = 0;
      dropped = 0;
      head_bytes = 0;
      readable.clear();
      wanted.clear();
      progress = Progress::begun;
      shrunk = reads = interrupted = closed = unwound = false;
      next = previous = nullptr;
    }
  };

  std::uint32_t id = 0;  // of the stream
  SessionPart session;
  Stream stream;  // the native session's
  IncomingBody incoming;
  Pacing pace;
  Handling handling;

  void clear() noexcept {
    ExchangeState::clear();
    id = 0;
    session.clear();
    stream = Stream();
    pace = Pacing();
    handling.clear();
  }
};

}  // namespace h2server::http::h2
