// Middleware: work around handlers, such as logging, authentication and limits.
//
// The order is the order of writing, outermost first: that of the server, of its groups, of the
// route. Exceptions do not pass: what a handler throws is a response already for the middleware
// around it (see ErrorHandler).
#pragma once

#include <concepts>
#include <functional>
#include <memory>
#include <optional>
#include <type_traits>
#include <utility>
#include <vector>

#include "h2server/request.h"
#include "h2server/response.h"
#include "h2server/task.h"

namespace h2server::http {
struct ExchangeState;
}

#pragma GCC visibility push(default)
namespace h2server {

// Calls what is inside of a middleware: the next one, or the handler. At most once.
class Next {
 public:
  [[nodiscard]] Task<Response> operator()(Request& request) const;

  // For the library itself.
  Next(http::ExchangeState& exchange, std::size_t index) noexcept
      : exchange_(&exchange), index_(index) {}

 private:
  http::ExchangeState* exchange_;
  std::size_t index_;
};

class Middleware {
 public:
  // Called before the handler. A response ends the exchange without what is inside; nullopt goes
  // on. Must not read the request's body.
  using Before = std::function<std::optional<Response>(Request&)>;
  // Called with the response of what is inside, which it may change.
  using After = std::function<void(Request&, Response&)>;
  // Calls `next`, or does not, and may wait before and after.
  using Around = std::function<Task<Response>(Request&, Next)>;

  // Plain functions cost no coroutine frame. Either may be empty, not both.
  Middleware(Before before, After after) : before_(std::move(before)), after_(std::move(after)) {}

  template <class F>
    requires std::is_invocable_r_v<std::optional<Response>, F&, Request&>
  Middleware(F function) : before_(std::move(function)) {}  // NOLINT: implicit on purpose
  template <class F>
    requires(std::is_invocable_v<F&, Request&, Response&>)
  Middleware(F function) : after_(std::move(function)) {}  // NOLINT
  template <class F>
    requires std::same_as<std::invoke_result_t<F&, Request&, Next>, Task<Response>>
  Middleware(F function) : around_(std::move(function)) {}  // NOLINT

  [[nodiscard]] const Before& before() const noexcept { return before_; }
  [[nodiscard]] const After& after() const noexcept { return after_; }
  [[nodiscard]] const Around& around() const noexcept { return around_; }
  [[nodiscard]] bool empty() const noexcept { return !before_ && !after_ && !around_; }

 private:
  Before before_;
  After after_;
  Around around_;
};

using MiddlewareChain = std::vector<Middleware>;  // outermost first
using MiddlewareChainRef = std::shared_ptr<const MiddlewareChain>;

}  // namespace h2server
#pragma GCC visibility pop
