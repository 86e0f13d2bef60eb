// How an exchange is answered: middleware from outside to inside, the handler, and back.
//
// What a handler or a middleware throws becomes a response here, nowhere else.
#pragma once

#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "h2server/failure.h"
#include "h2server/middleware.h"
#include "http/exchange.h"
#include "http/hosts.h"
#include "http/router.h"

namespace h2server::http {

// What a server has beside routes. Immutable while it runs.
struct Composition {
  HostTable hosts;           // with routes of their own
  PathRewrites rewrites;     // of all other hosts
  MiddlewareChainRef chain;  // also around requests without a route; may be null
  ErrorHandler error_handler;
  FailureHook failure_hook;
  bool serves_when_tight = false;  // also requests that cost memory while there is little left
};

// What answer_at_once() may call: with `coroutines`, also a coroutine, which runs up to its first
// wait.
enum class Begin : bool { plain_functions, coroutines };

// Answers without waiting, if that is possible. Returns nullopt if answer() has to go on.
std::optional<Response> answer_at_once(ExchangeState& exchange, Begin begin) noexcept;
// Answers what answer_at_once() has not. Its task takes the stop state of the exchange.
Task<Response> answer(ExchangeState& exchange);

// Tells the operator of what cuts a response off after its head: what was thrown, or why its body
// can't be completed. The first reason only: a handler that throws makes its body fail, too.
void report_cut_off(ExchangeState& exchange, const std::exception_ptr& exception) noexcept;
void report_cut_off(ExchangeState& exchange, const Error& error) noexcept;

// Calls a handler alone. Returns nullopt if its coroutine is needed. Throws what it throws.
std::optional<Response> answer_at_once(const Handler& handler, Request& request);

// Returns true if memory is tight: what costs much of it should be answered by refuse_for_memory().
[[nodiscard]] bool memory_is_tight() noexcept;
// 503 with Retry-After, counted.
Response refuse_for_memory();

// Describes an exception for the operator.
std::string text_of(const std::exception_ptr& exception);

}  // namespace h2server::http
