// BodySource: a message body that is pulled. The consumer asks for a piece when it has room for it.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>

#include "h2server/message.h"
#include "h2server/result.h"
#include "h2server/task.h"

#pragma GCC visibility push(default)
namespace h2server {

class BodySource {
 public:
  virtual ~BodySource() = default;
  // Returns the next piece, valid until the next call or the source's destruction; empty at the end
  // of the body. After an error the body is incomplete and read() is not called again.
  virtual Task<Result<std::string_view>> read() = 0;
  // Ends a read() that waits, with ECANCELED: the reader's token has stopped.
  virtual void interrupt() noexcept {}
  // Returns the trailer fields (RFC 9110, 6.5). Called once read() has reported the end. A response
  // sends them over HTTP/2, and over HTTP/1.1 if the body has no size; otherwise they are dropped.
  // Fields that frame or route a message, authenticate, control a request or a response, or
  // describe the content are dropped too (6.5.1).
  [[nodiscard]] virtual std::span<const Field> trailers() const noexcept { return {}; }
  // Of a response: returns false if neither read() nor the destructor uses the request, whose head
  // is then given back while the body is sent.
  [[nodiscard]] virtual bool reads_request() const noexcept { return true; }
  // Of a response: returns about how many bytes of memory it holds. While the process is short of
  // memory, the connections of the client that holds most are ended (ServerOptions::memory_max).
  [[nodiscard]] virtual std::size_t bytes_held() const noexcept { return 0; }
  // Of a request: see Request::send_interim(), which has checked the arguments.
  virtual void inform(int /*status*/, std::span<const Field> /*fields*/) {}
};

}  // namespace h2server
#pragma GCC visibility pop
