// Bodies are pulled: whoever sends or stores one asks for the next piece when there is room for it.
#pragma once

#include <span>
#include <string_view>

#include "h2server/message.h"
#include "h2server/result.h"
#include "h2server/task.h"

namespace h2server {

class BodySource {
 public:
  virtual ~BodySource() = default;
  // The next piece, valid until the next call or the source's end; empty at the end of the body.
  // After an error the body is incomplete and there is no further call.
  virtual Task<Result<std::string_view>> read() = 0;
  // The trailer fields (RFC 9110, 6.5), once read() has said that the body has ended. Of a response
  // they leave over HTTP/2, and over HTTP/1.1 where the body has no size; else they are dropped.
  // Those are dropped as well that frame or route a message, authenticate, control a request or a
  // response, or say what the content is (6.5.1).
  [[nodiscard]] virtual std::span<const Field> trailers() const noexcept { return {}; }
};

}  // namespace h2server
