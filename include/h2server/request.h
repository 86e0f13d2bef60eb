// Request: the argument of a handler.
//
// It lives until the last byte of the response's body is handed over or discarded. So the
// BodySource of a response may keep a reference to it and read the request's body.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "h2server/body.h"
#include "h2server/message.h"
#include "h2server/response.h"

namespace h2server {

class Request {
 public:
  // All must outlive the request. `body` is null if there is none.
  Request(const RequestHead& head, const PathParams& params, BodySource* body) noexcept
      : head_(head), params_(params), body_(body) {}

  [[nodiscard]] const RequestHead& head() const noexcept { return head_; }
  [[nodiscard]] Method method() const noexcept { return head_.method; }
  [[nodiscard]] std::string_view path() const noexcept { return head_.path; }
  [[nodiscard]] std::string_view query() const noexcept { return head_.query; }
  // When its head was complete, in seconds since 1970.
  [[nodiscard]] std::int64_t received_s() const noexcept { return head_.received_s; }
  // Returns the value of the first field line with that name.
  [[nodiscard]] std::optional<std::string_view> field(std::string_view name) const noexcept {
    return head_.fields.find(name);
  }
  // Returns the value of a path parameter; empty if the pattern has none of that name.
  [[nodiscard]] std::string_view param(std::string_view name) const noexcept {
    return params_.find(name).value_or(std::string_view());
  }

  // Returns the next piece of the body, valid until the next call; empty at its end. Fails if the
  // client leaves or breaks the protocol. Slow reads apply backpressure to the client.
  [[nodiscard]] Task<Result<std::string_view>> read();
  // Returns the rest of the body, or EMSGSIZE if that is longer than `bytes_max`.
  [[nodiscard]] Task<Result<std::string>> read_all(std::size_t bytes_max);

  // Returns the trailer fields once the body has been read to its end, without fields that are not
  // allowed there (RFC 9110, 6.5.1). Names are in lower case.
  [[nodiscard]] std::span<const Field> trailers() const noexcept {
    return body_ != nullptr ? body_->trailers() : std::span<const Field>();
  }

  [[nodiscard]] Response reply_ok() const { return Response(200); }
  // Sends the file, or what the request's preconditions and Range select: 206, 304, 412, 416.
  [[nodiscard]] Response reply_ok_with_file(FileRef file) const;
  [[nodiscard]] Response reply_404() const;

 private:
  const RequestHead& head_;
  const PathParams& params_;
  BodySource* body_;
};

}  // namespace h2server
