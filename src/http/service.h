// Service: what the connections of one worker share, and who answers their requests.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>

#include "base/counter.h"
#include "http/date_cache.h"
#include "http/drain_list.h"
#include "http/exchange.h"
#include "http/limits.h"
#include "http/router.h"

namespace h2server::http {

class WindowBudget;

struct Service {
  const Router& router;
  const Limits& limits;
  DateCache date{};
  DrainList connections{};
  base::Counter* streams = nullptr;  // of HTTP/2 that are open, if anybody wants to know
  // The pattern of the route that was taken last, for whoever finds the worker stuck; may be null.
  std::atomic<const std::string*>* last_route = nullptr;
  WindowBudget* windows = nullptr;  // by which receive windows may grow; null: they don't
};

// The handler for the request in `exchange.head`, whose target is parsed here; null when the server
// answers itself: `exchange.response` says what.
const Handler* find_handler(const Service& service, Exchange& exchange);

// Call the handler. What it throws becomes 500 here, and here only. At once: without its coroutine;
// nullopt: that is needed.
std::optional<Response> answer_at_once(const Handler& handler, Request& request) noexcept;
Task<Response> call_coroutine(const Handler::Coroutine& handler, Request& request);
// "GET /slow/1 (route /slow/{n})": a request that has a handler, for the operator.
std::string describe(const Exchange& exchange);
// Reads the handler's body. What the source throws becomes an error: the head has left already.
Task<Result<std::string_view>> read_source(BodySource& source);

}  // namespace h2server::http
