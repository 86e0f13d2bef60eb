// Session: the server's side of the HTTP/2 protocol (RFC 9113), without I/O and without a clock.
// Bytes in, events out; bytes out. Not thread-safe.
//
// The caller pulls events and handles each before it asks for the next. The native session parses
// no further meanwhile: a request can be answered and its memory released before the next one is
// parsed.
//
// The session takes an exchange from a pool when a stream opens. The event `request` passes it to
// the caller, which must keep it until the event `closed`.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>

#include "base/memory/buffer_chain.h"
#include "base/memory/pool.h"
#include "h2server/limits.h"
#include "h2server/message.h"
#include "h2server/options.h"
#include "http/h2/h2_exchange.h"
#include "http/h2/prepared_head.h"
#include "http/h2/protocol.h"
#include "http/observer.h"
#include "http/window_budget.h"

namespace h2server::http::h2 {

struct SessionEvent {
  enum class Kind : std::uint8_t {
    request,  // the head is complete; with exchange.session.ended, the whole request
    data,     // `bytes` of content, which the caller must consume() later
    ended,    // the request is complete, with exchange.session.trailers
    closed,   // the stream is closed; the last event of its exchange
    // The response's body could be sent, but nothing of it is available; or all has been sent.
    body_wanted,
  };
  Kind kind = Kind::closed;
  H2Exchange* exchange = nullptr;
  std::string_view bytes = {};  // valid until the next call of next()
};

// Returns true for resets that count as caused by the client, see FloodGuard.
[[nodiscard]] constexpr bool is_client_caused(ErrorCode code) noexcept {
  return code == ErrorCode::refused_stream || code == ErrorCode::enhance_your_calm;
}

// A response's head: ":status" first, names in lower case.
struct ResponseHead {
  const PreparedHead* prepared = nullptr;  // null: none
  std::span<const Field> fields = {};      // all other fields
  std::string_view date = {};              // value of the field Date; empty: no field
  std::int64_t date_s = 0;                 // Unix time; equal times mean equal dates
};

class Session {
 public:
  Session() = default;
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;
  virtual ~Session() = default;

  // Passes received bytes. `bytes` must stay valid until next() returns false. `now_ms` is
  // monotonic.
  virtual void receive(std::string_view bytes, std::int64_t now_ms) = 0;
  // Takes the next event. Returns false if there is none for now.
  [[nodiscard]] virtual bool next(SessionEvent& event) = 0;
  // Appends frames to output() until there are none or it holds about `bytes_max`.
  virtual void produce(std::size_t bytes_max) = 0;
  // Bytes to be sent. The caller consumes them.
  [[nodiscard]] virtual base::BufferChain& output() noexcept = 0;
  // Returns true after a connection error. The caller must send output(), which ends with a GOAWAY,
  // and close the connection.
  [[nodiscard]] virtual bool failed() const noexcept = 0;
  // Describes the error by which the server ends the connection; the code is 0 as long as there is
  // none. libnghttp2 does not tell of violations that it finds itself.
  [[nodiscard]] virtual ConnectionError error() const noexcept = 0;
  // Returns true if nothing more will be received or sent, except what output() holds.
  [[nodiscard]] virtual bool finished() const noexcept = 0;
  // Returns true if the client has acknowledged our SETTINGS (RFC 9113, 6.5.3).
  [[nodiscard]] virtual bool acknowledged() const noexcept = 0;
  // Returns 0, or, if a field block has arrived in part, a number that differs from that of the
  // previous block.
  [[nodiscard]] virtual std::uint32_t unfinished_block() const noexcept = 0;
  // Returns how many bytes frames and field blocks hold that have arrived in part; 0 if a library
  // holds them.
  [[nodiscard]] virtual std::size_t bytes_gathered() const noexcept { return 0; }
  // Returns true if the stream's window for the response's body is closed.
  [[nodiscard]] virtual bool awaits_window(const H2Exchange& exchange) const noexcept = 0;
  // Returns true if the connection's window, for all bodies, is closed.
  [[nodiscard]] virtual bool awaits_window() const noexcept = 0;
  // Returns false if our window for the connection is closed, so that the client can't send
  // content.
  [[nodiscard]] virtual bool may_receive() const noexcept = 0;
  // Returns how many bytes of content have been received and not consumed.
  [[nodiscard]] virtual std::uint32_t unread() const noexcept = 0;

  // Sends a response's head. The bytes of its fields must stay valid until `closed`; those of
  // `date` and the array `fields` are not used after the call. The body, if any, is pulled from
  // exchange.outgoing, and trailer fields from its source.
  virtual void respond(H2Exchange& exchange, const ResponseHead& head, bool has_body) = 0;
  // Sends an interim response (RFC 9110, 15.2), unless the final one has begun. ":status" is first;
  // names are in lower case. The fields are not used after the call.
  virtual void inform(H2Exchange& exchange, std::span<const Field> fields) = 0;
  // Called after exchange.outgoing was offered a piece or the end.
  virtual void body_offered(H2Exchange& exchange) = 0;
  // Releases `bytes` of content, so that the peer may send more. The first that a handler has read
  // tell that an upload has begun.
  virtual void consume(H2Exchange& exchange, std::size_t bytes, Consumed by) = 0;
  // See is_client_caused().
  virtual void reset(H2Exchange& exchange, ErrorCode code) = 0;
  // Sends GOAWAY (RFC 9113, 6.8): streams that the client opens before it has seen it are
  // completed, later ones are not served.
  virtual void drain() = 0;
  // Sends GOAWAY with this stream as the last: later ones are not served, and the client may retry
  // them on another connection (RFC 9113, 6.8).
  virtual void end_after(const H2Exchange& exchange) = 0;
  // Sends GOAWAY with `code` and ends the session.
  virtual void terminate(ErrorCode code) = 0;
};

// Makes the session of a connection. `limits`, `exchanges` and `windows` must outlive it. The
// receive windows grow within `windows`; with null they do not grow.
using SessionMaker = std::unique_ptr<Session> (*)(const Limits& limits,
                                                  base::Pool<H2Exchange>& exchanges,
                                                  WindowBudget* windows);

// Returns false for libnghttp2 in a build without it.
[[nodiscard]] bool is_built_in(Http2Implementation implementation) noexcept;
[[nodiscard]] SessionMaker maker_of(Http2Implementation implementation) noexcept;
[[nodiscard]] std::unique_ptr<Session> make_session(Http2Implementation implementation,
                                                    const Limits& limits,
                                                    base::Pool<H2Exchange>& exchanges,
                                                    WindowBudget* windows = nullptr);

// For maker_of(): native_session.cc, and nghttp2_session.cc or nghttp2_absent.cc.
// All must outlive the session. If `windows` is null, receive windows do not grow.
std::unique_ptr<Session> make_native_session(const Limits& limits,
                                             base::Pool<H2Exchange>& exchanges,
                                             WindowBudget* windows);
std::unique_ptr<Session> make_nghttp2_session(const Limits& limits,
                                              base::Pool<H2Exchange>& exchanges,
                                              WindowBudget* windows);
// False in a build without libnghttp2 (CMake's H2SERVER_NGHTTP2); then the function returns null.
extern const bool has_nghttp2;

}  // namespace h2server::http::h2
