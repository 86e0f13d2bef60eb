// Session: the server's side of the HTTP/2 protocol (RFC 9113) without any I/O and without a clock.
// Bytes in, events out; bytes out.
//
// Events are pulled, so each is acted upon before the bytes behind it are looked at: a request is
// answered, and its memory is free again, before the next one is parsed.
//
// It takes transfers from a pool when streams open and hands them over with the event `request`;
// from then on they belong to the receiver of the events, which keeps each until `closed` has named
// it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>

#include "base/buffer_chain.h"
#include "base/pool.h"
#include "h2server/message.h"
#include "http/h2/protocol.h"
#include "http/h2/transfer.h"
#include "http/limits.h"
#include "http/window_budget.h"

namespace h2server::http::h2 {

struct SessionEvent {
  enum class Kind : std::uint8_t {
    request,     // the head is complete; so is the request when transfer.ended says so
    data,        // `bytes` of content, to be consumed sooner or later
    ended,       // the request is whole; transfer.trailers are its trailer fields
    closed,      // the stream is gone; the last event of its transfer
    body_taken,  // what was offered of the response's body has been taken
  };
  Kind kind = Kind::closed;
  Transfer* transfer = nullptr;
  std::string_view bytes = {};  // valid until the next call of next()
};

// What a response's head says, ":status" first, names in lower case.
struct ResponseHead {
  std::span<const Field> prepared = {};  // those that a file's responses have in common
  std::uint64_t prepared_id = 0;         // the same one, the same fields; 0: nothing is known
  std::span<const Field> fields = {};    // the others
  std::string_view date = {};            // of the field Date; empty: without it
  std::int64_t date_s = 0;               // the same one, the same date
};

class Session {
 public:
  Session() = default;
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;
  virtual ~Session() = default;

  // Takes what has arrived; `bytes` stay until next() has said that there is no more. `now_ms` is
  // monotonic.
  virtual void receive(std::string_view bytes, std::int64_t now_ms) = 0;
  // What happened next; false: nothing more for now.
  [[nodiscard]] virtual bool next(SessionEvent& event) = 0;
  // Adds frames to output() until there are none or it holds `bytes_max`, about.
  virtual void produce(std::size_t bytes_max) = 0;
  // What is to be sent. The caller consumes it.
  [[nodiscard]] virtual base::BufferChain& output() noexcept = 0;
  // The connection is to be closed once output(), which ends with a GOAWAY, has left.
  [[nodiscard]] virtual bool failed() const noexcept = 0;
  // Nothing will come or go any more, but what output() holds.
  [[nodiscard]] virtual bool finished() const noexcept = 0;
  // The client has seen our SETTINGS (RFC 9113, 6.5.3).
  [[nodiscard]] virtual bool acknowledged() const noexcept = 0;
  // 0, or, if a part of a field block has arrived and its end has not, a number that differs from
  // that of the block before.
  [[nodiscard]] virtual std::uint32_t unfinished_block() const noexcept = 0;
  // Returns true if the stream's window for the response's body is closed.
  [[nodiscard]] virtual bool awaits_window(const Transfer& transfer) const noexcept = 0;
  // The same of the connection's, for all bodies.
  [[nodiscard]] virtual bool awaits_window() const noexcept = 0;
  // Returns false if our window for the connection is closed, so that the client can't send
  // content.
  [[nodiscard]] virtual bool may_receive() const noexcept = 0;

  // The fields are valid until `closed`, but for `date` and the array of `fields`, which are not
  // looked at later. The body, if there is one, is pulled from
  // transfer.outgoing, and trailer fields from its source.
  virtual void respond(Transfer& transfer, const ResponseHead& head, bool has_body) = 0;
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

// The two there are. `limits`, `transfers` and `windows` outlive the session, whose receive windows
// grow within `windows`: the native one's, and not without it.
enum class Implementation : std::uint8_t { native, nghttp2 };
// By its name on the command line.
[[nodiscard]] std::optional<Implementation> find_implementation(std::string_view name) noexcept;
[[nodiscard]] std::unique_ptr<Session> make_session(Implementation implementation,
                                                    const Limits& limits,
                                                    base::Pool<Transfer>& transfers,
                                                    WindowBudget* windows = nullptr);

}  // namespace h2server::http::h2
