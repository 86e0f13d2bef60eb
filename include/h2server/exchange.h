// Exchange: the argument of a handler that answers while it reads, in both directions at once.
//
//   server.post("/echo", [](Exchange& exchange) -> Task<void> {
//     exchange.respond(Response(200));
//     for (;;) {
//       const Result<std::string_view> piece = co_await exchange.request().read();
//       if (!piece || piece->empty()) break;
//       const Result<void> written = co_await exchange.write(std::string(*piece));
//       if (!written) break;
//     }
//   });
//
// The response ends when the handler does, or with finish(). A handler that is to stop may still
// finish(); if it ends without that, the response is cut. Several tasks of the handler (see
// when_all()) may read and write at the same time, one of each kind. A scheme that blocks reads and
// writes HTTP/1.1 in turn, not at the same time.
#pragma once

#include <string>
#include <vector>

#include "h2server/request.h"
#include "h2server/response.h"
#include "h2server/result.h"
#include "h2server/stop.h"
#include "h2server/task.h"

namespace h2server::http {
class Duplex;
}

#pragma GCC visibility push(default)
namespace h2server {

class Exchange {
 public:
  explicit Exchange(http::Duplex& duplex) noexcept : duplex_(duplex) {}

  [[nodiscard]] Request& request() const noexcept;
  [[nodiscard]] StopToken stop_token() const noexcept { return request().stop_token(); }

  // Sends the head of the response, which must have no body. Throws std::logic_error if it has one,
  // or if the head was sent before.
  void respond(Response head);
  // Sends a piece of the body after the pieces before it. Waits while more than one piece has not
  // been taken by the connection: so a slow client slows the handler. Fails with ECANCELED if the
  // exchange is to stop, and with EPIPE if the response has no content (HEAD, 204, 304). Throws
  // std::logic_error before respond() and after finish().
  [[nodiscard]] Task<Result<void>> write(std::string piece);
  // Ends the body, with trailer fields (RFC 9110, 6.5; see BodySource::trailers). The request may
  // still be read. Throws std::logic_error before respond().
  void finish(std::vector<Response::Line> trailers = {});

 private:
  http::Duplex& duplex_;
};

}  // namespace h2server
#pragma GCC visibility pop
