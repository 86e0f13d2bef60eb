// Failure: what went wrong with an exchange, how far it reaches, and who caused it.
#pragma once

#include <cstdint>
#include <exception>
#include <functional>
#include <stdexcept>
#include <string>

#include "h2server/request.h"
#include "h2server/response.h"

#pragma GCC visibility push(default)
namespace h2server {

// What is closed: the exchange alone, its connection, or the process.
enum class Reach : std::uint8_t { exchange, connection, process };
// Who caused it: the client, this program, or the system that it runs on.
enum class Culprit : std::uint8_t { client, server, system };

struct Failure {
  Reach reach = Reach::exchange;
  Culprit culprit = Culprit::server;
  int status = 500;                   // of the response, unless that is cut off
  std::string what;                   // for the operator; not to be sent to clients
  std::exception_ptr exception = {};  // what the handler threw, or null
};

// Thrown by a handler to answer with a status. `what` is for the operator.
class HttpError : public std::runtime_error {
 public:
  // `status` is 400 to 599; otherwise it becomes 500.
  explicit HttpError(int status, const std::string& what = "")
      : std::runtime_error(what), status_(status >= 400 && status < 600 ? status : 500) {}
  [[nodiscard]] int status() const noexcept { return status_; }

 private:
  int status_;
};

// Returns the failure that an exception of a handler means:
//
//   HttpError                     its status; the client's fault below 500
//   std::bad_expected_access      of an Error, as .value() throws it: EAGAIN, EBUSY, EMFILE, ENFILE
//                                 and ECANCELED 503, ETIMEDOUT 504, EMSGSIZE 413, ENOSPC and EDQUOT
//                                 507, ECONNRESET and EPROTO 400 by the client's fault; others 500
//   any other                     500
[[nodiscard]] Failure failure_of(const std::exception_ptr& exception);

// Makes the response for a failure: of exceptions, and of responses with a status of 400 or more
// and no body, or with the library's own page. The response keeps the fields of the one that it
// replaces, except those it has itself. Called on all workers concurrently. If it throws, a plain
// page with the status is sent.
using ErrorHandler = std::function<Response(const Request&, const Failure&)>;
// Called for each exception that becomes a response, before that is sent, and for what cuts a
// response off: what a handler throws after Exchange::respond(), what a BodySource throws or fails
// with, and a file that was rewritten while it was sent. That ends an HTTP/1.1 connection, and a
// stream of HTTP/2. Without a hook they are logged, except faults of the client. What the hook
// throws is logged.
using FailureHook = std::function<void(const Request&, const Failure&)>;

}  // namespace h2server
#pragma GCC visibility pop
