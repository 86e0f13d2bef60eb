// Handler: a plain function that answers at once, a coroutine that may wait, or both: an attempt
// that answers if it can do so at once, and a coroutine for the other requests. A coroutine that
// takes an Exchange writes its response while it reads the request.
//
// Plain functions and attempts run inside the receive path and cost no coroutine frame. All workers
// call a handler concurrently, so it must protect state that calls share.
#pragma once

#include <concepts>
#include <functional>
#include <optional>
#include <type_traits>
#include <utility>
#include <variant>

#include "h2server/exchange.h"
#include "h2server/request.h"
#include "h2server/response.h"
#include "h2server/task.h"

#pragma GCC visibility push(default)
namespace h2server {

class Handler {
 public:
  using Plain = std::function<Response(Request&)>;
  using Coroutine = std::function<Task<Response>(Request&)>;
  using Attempt = std::function<std::optional<Response>(Request&)>;
  using Duplex = std::function<Task<void>(Exchange&)>;

  template <class F>
    requires(std::is_invocable_r_v<Response, F&, Request&> &&
             !std::same_as<std::remove_cvref_t<F>, Handler>)
  Handler(F function) : function_(Plain(std::move(function))) {}  // NOLINT: implicit on purpose

  template <class F>
    requires std::same_as<std::invoke_result_t<F&, Request&>, Task<Response>>
  Handler(F function) : function_(Coroutine(std::move(function))) {}  // NOLINT

  template <class F>
    requires std::same_as<std::invoke_result_t<F&, Exchange&>, Task<void>>
  Handler(F function) : function_(Duplex(std::move(function))) {}  // NOLINT

  // The attempt must not read the request's body. If it returns nullopt, the coroutine is called.
  Handler(Attempt attempt, Coroutine otherwise)
      : function_(std::move(otherwise)), attempt_(std::move(attempt)) {}

  // Returns true if the function is empty.
  [[nodiscard]] bool empty() const noexcept {
    return std::visit([](const auto& function) { return !function; }, function_);
  }

  // Exactly one of plain(), coroutine() and duplex() is not null.
  [[nodiscard]] const Plain* plain() const noexcept { return std::get_if<Plain>(&function_); }
  [[nodiscard]] const Coroutine* coroutine() const noexcept {
    return std::get_if<Coroutine>(&function_);
  }
  [[nodiscard]] const Duplex* duplex() const noexcept { return std::get_if<Duplex>(&function_); }
  // Null if there is none; otherwise it is called before coroutine().
  [[nodiscard]] const Attempt* attempt() const noexcept { return attempt_ ? &attempt_ : nullptr; }

 private:
  std::variant<Plain, Coroutine, Duplex> function_;
  Attempt attempt_;
};

}  // namespace h2server
#pragma GCC visibility pop
