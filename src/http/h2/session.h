// Session: the server's side of the HTTP/2 protocol (RFC 9113) without any I/O. Bytes in, events
// out; bytes out.
//
// It takes transfers from a pool when streams open and hands them over with the event `request`;
// from then on they belong to the receiver of the events, which keeps each until `closed` has named
// it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "base/buffer_chain.h"
#include "h2server/message.h"
#include "h2server/result.h"
#include "http/h2/transfer.h"

namespace h2server::http::h2 {

// RFC 9113, 7.
enum class ErrorCode : std::uint32_t {
  no_error = 0x0,
  internal_error = 0x2,
  refused_stream = 0x7,
  cancel = 0x8,
};

struct SessionEvent {
  enum class Kind : std::uint8_t {
    request,     // the head is complete
    data,        // `bytes` of content, to be consumed sooner or later
    ended,       // the request is whole
    closed,      // the stream is gone; the last event of its transfer
    body_taken,  // what was offered of the response's body has been sent
  };
  Kind kind;
  Transfer* transfer;
  std::string_view bytes = {};  // valid as long as the bytes that were received
};
using SessionEvents = std::vector<SessionEvent>;

class Session {
 public:
  Session() = default;
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;
  virtual ~Session() = default;

  // Appends what happened to `events`. After an error the connection is to be closed, once what
  // send() yields, a GOAWAY, has left.
  virtual Result<void> receive(std::string_view bytes, SessionEvents& events) = 0;
  // Appends frames to `out` until there are none or it holds `bytes_max`, about.
  virtual Result<void> send(base::BufferChain& out, std::size_t bytes_max,
                            SessionEvents& events) = 0;
  // Nothing will come or go any more.
  [[nodiscard]] virtual bool finished() const noexcept = 0;

  // `fields` begin with ":status", names are in lower case; valid until `closed`. The body, if
  // there is one, is pulled from transfer.outgoing.
  virtual void respond(Transfer& transfer, std::span<const Field> fields, bool has_body) = 0;
  // A "100 Continue" before the response.
  virtual void inform_continue(Transfer& transfer) = 0;
  // transfer.outgoing has been offered a piece or the end.
  virtual void body_offered(Transfer& transfer) = 0;
  // The receiver is done with that much content: the peer may send more.
  virtual void consume(Transfer& transfer, std::size_t bytes) = 0;
  virtual void reset(Transfer& transfer, ErrorCode code) = 0;
  // GOAWAY: streams that are open are served to their end, new ones are not.
  virtual void drain() = 0;
  // GOAWAY that names this one as the last: later streams are not served, and the client may ask
  // again elsewhere (RFC 9113, 6.8).
  virtual void end_after(const Transfer& transfer) = 0;
  // GOAWAY and the end.
  virtual void terminate(ErrorCode code) = 0;
};

}  // namespace h2server::http::h2
