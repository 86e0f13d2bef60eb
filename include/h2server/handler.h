// Handler: a plain function that answers at once, or a coroutine that may wait.
//
// A plain handler runs inside the receive path and costs no coroutine frame. Handlers are called by
// every worker at the same time: what they share between calls they must protect themselves.
#pragma once

#include <concepts>
#include <functional>
#include <type_traits>
#include <utility>
#include <variant>

#include "h2server/request.h"
#include "h2server/response.h"
#include "h2server/task.h"

namespace h2server {

class Handler {
 public:
  using Plain = std::function<Response(Request&)>;
  using Coroutine = std::function<Task<Response>(Request&)>;

  template <class F>
    requires(std::is_invocable_r_v<Response, F&, Request&> &&
             !std::same_as<std::remove_cvref_t<F>, Handler>)
  Handler(F function) : function_(Plain(std::move(function))) {}  // NOLINT: implicit on purpose

  template <class F>
    requires std::same_as<std::invoke_result_t<F&, Request&>, Task<Response>>
  Handler(F function) : function_(Coroutine(std::move(function))) {}  // NOLINT

  // Exactly one of them is not null.
  [[nodiscard]] const Plain* plain() const noexcept { return std::get_if<Plain>(&function_); }
  [[nodiscard]] const Coroutine* coroutine() const noexcept {
    return std::get_if<Coroutine>(&function_);
  }

 private:
  std::variant<Plain, Coroutine> function_;
};

}  // namespace h2server
