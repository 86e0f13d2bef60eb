// Request: the argument of a handler.
//
// It lives until the last byte of the response's body is handed over or discarded. So the
// BodySource of a response may keep a reference to it and read the request's body.
#pragma once

#include <any>
#include <chrono>
#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <typeinfo>
#include <utility>
#include <vector>

#include "h2server/body.h"
#include "h2server/connection_info.h"
#include "h2server/cookies.h"
#include "h2server/message.h"
#include "h2server/query.h"
#include "h2server/response.h"
#include "h2server/stop.h"

#pragma GCC visibility push(default)
namespace h2server {

namespace coro {
class StopTimer;
}

class Request {
 public:
  // All must outlive the request. `body` is null if there is none, `stop` if nothing stops it,
  // `connection` if it is unknown.
  Request(const RequestHead& head, const PathParams& params, BodySource* body,
          coro::StopState* stop = nullptr, const ConnectionInfo* connection = nullptr) noexcept;
  Request(const Request&) = delete;
  Request& operator=(const Request&) = delete;
  ~Request();

  [[nodiscard]] const RequestHead& head() const noexcept { return head_; }
  [[nodiscard]] Method method() const noexcept { return head_.method; }
  [[nodiscard]] std::string_view path() const noexcept { return head_.path; }
  [[nodiscard]] std::string_view query() const noexcept { return head_.query; }
  // When its head was complete, in seconds since 1970.
  [[nodiscard]] std::int64_t received_s() const noexcept { return head_.received_s; }
  // Returns the client's and the server's address, and the TLS session.
  [[nodiscard]] const ConnectionInfo& connection() const noexcept;
  // Returns the value of the first field line with that name.
  [[nodiscard]] std::optional<std::string_view> field(std::string_view name) const noexcept {
    return head_.fields.find(name);
  }
  // Returns the value of a path parameter; empty if the pattern has none of that name.
  [[nodiscard]] std::string_view param(std::string_view name) const noexcept {
    return params_.find(name).value_or(std::string_view());
  }

  // Returns the next piece of the body, valid until the next call; empty at its end. Fails if the
  // client leaves (ECONNRESET), is too slow (ETIMEDOUT) or breaks the protocol (EPROTO), and with
  // ECANCELED if the task is to stop. Slow reads apply backpressure to the client. Throws
  // std::logic_error if another task reads.
  [[nodiscard]] Task<Result<std::string_view>> read();
  // Returns the rest of the body, or EMSGSIZE if that is longer than `bytes_max`.
  [[nodiscard]] Task<Result<std::string>> read_all(std::size_t bytes_max);

  // Sends an interim response (RFC 9110, 15.2) before the final one, such as 104 with the place of
  // a resumable upload. It leaves at the latest when the next read() waits. Nothing is sent if the
  // request has no content, if the client speaks HTTP/1.0, and once the final response has begun.
  // `status` is 102 to 199. Throws std::invalid_argument for others and for fields that
  // Response::add() refuses.
  void send_interim(int status, std::span<const Field> fields = {});

  // Returns the trailer fields once the body has been read to its end, without fields that are not
  // allowed there (RFC 9110, 6.5.1). Names are in lower case.
  [[nodiscard]] std::span<const Field> trailers() const noexcept {
    return body_ != nullptr ? body_->trailers() : std::span<const Field>();
  }

  // Stops when the client has left, the deadline has passed, or the stopping server cancels.
  [[nodiscard]] StopToken stop_token() const noexcept { return StopToken(stop_); }
  // Stops the token after `time`, with what remains of the response. Replaces an earlier deadline.
  // Throws std::logic_error if the calling thread runs no handler.
  void set_deadline(std::chrono::milliseconds time);

  // Stops the token now, and gives up what remains of the response. On the worker's thread; with a
  // foreign loop, inside of Server::poll().
  void abort();

  // Values that middleware leaves for handlers, one of each type.
  template <class T>
  T& attach(T value) {
    detach<T>();
    return std::any_cast<T&>(
        *attachments_.emplace_back(std::make_unique<std::any>(std::move(value))));
  }
  // Returns the value of that type, or null.
  template <class T>
  [[nodiscard]] T* attached() noexcept {
    return const_cast<T*>(std::as_const(*this).template attached<T>());
  }
  template <class T>
  [[nodiscard]] const T* attached() const noexcept {
    for (const auto& one : attachments_) {
      if (const T* const value = std::any_cast<T>(one.get())) return value;
    }
    return nullptr;
  }

  [[nodiscard]] Response reply_ok() const { return Response(200); }
  // Sends the file, or what the request's preconditions and Range select: 206, 304, 412, 416.
  [[nodiscard]] Response reply_ok_with_file(FileRef file) const;
  [[nodiscard]] Response reply_404() const;

  // Decodes the query.
  [[nodiscard]] Parameters query_parameters() const { return Parameters(query()); }
  // Finds the cookies.
  [[nodiscard]] Cookies cookies() const { return Cookies(head_.fields); }
  // Reads the body, application/x-www-form-urlencoded. Fails with EINVAL if Content-Type names
  // another media type, with EMSGSIZE if the rest of the body is longer than `bytes_max` or has
  // more than Parameters::count_max parameters, and as read() does.
  [[nodiscard]] Task<Result<Parameters>> read_form(std::size_t bytes_max);

 private:
  template <class T>
  void detach() {
    std::erase_if(attachments_, [](const auto& one) { return one->type() == typeid(T); });
  }

  const RequestHead& head_;
  const PathParams& params_;
  BodySource* body_;
  const ConnectionInfo* connection_;
  coro::StopState* stop_;
  bool reading_ = false;  // read() waits
  std::unique_ptr<coro::StopTimer> deadline_;
  std::vector<std::unique_ptr<std::any>> attachments_;  // their addresses stay
};

}  // namespace h2server
#pragma GCC visibility pop
