// ExchangeState: one request and its response, reused for the next one.
//
// The request lives until the last byte of the response's body has been handed over or abandoned,
// so the body's source may keep a reference to the request and read its body.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/memory/arena.h"
#include "base/memory/pool.h"
#include "h2server/access_record.h"
#include "h2server/handler.h"
#include "h2server/middleware.h"
#include "h2server/request.h"
#include "h2server/response.h"
#include "h2server/stop.h"
#include "http/duplex.h"
#include "http/outgoing_body.h"

namespace h2server::http {

struct Composition;
struct HostRoutes;

// What a ConnectionObserver may want to know beside the request and its response.
struct Observed {
  std::int64_t begun_us = 0;       // when the head was complete; 0: nobody observes
  std::int64_t first_byte_us = 0;  // when the response began; 0: at once, or never
  std::uint64_t received = 0;      // content of the request, bytes
  CutOff cut_off = CutOff::none;
  bool responded = false;    // the response has begun
  bool cut_is_told = false;  // report_cut_off() has told why
};

struct ExchangeState {
  base::Arena arena;
  RequestHead head;
  PathParams params;
  const std::string* route = nullptr;  // the pattern of the handler
  const Handler* handler = nullptr;    // null: the server answers itself; `response` is the answer
  const MiddlewareChain* chain = nullptr;    // around the handler; null: none
  const Composition* composition = nullptr;  // the server's; null: nothing to do
  const HostRoutes* host = nullptr;          // whose route it is; null: one for all hosts
  std::size_t entered = 0;                   // plain middlewares that have let the request pass
  coro::StopState stop;                      // of the handler and of the body's source
  std::optional<Request> request;            // set when a handler or a middleware is to be called
  // The handler, if it writes while it reads. The body's source refers to it.
  std::unique_ptr<Duplex> duplex;
  std::optional<Task<Response>> begun;  // the handler's coroutine, which has begun and waits
  Response response;
  OutgoingBody outgoing;  // of response
  Observed observed;

  // Returns true if the handler, the body's source or a hook may still use the request.
  [[nodiscard]] bool request_in_use() const noexcept;
  // Gives back what of the head nobody reads any more: keeps the method, the target, the path, the
  // authority and the fields with these names, in lower case. No handler and no source of a body
  // may use the request, and the response's head must have been encoded.
  void shrink_head(std::span<const std::string_view> names);

  void clear() noexcept {
    outgoing.clear();
    response.clear();  // before the request, to which the body's source may refer
    begun.reset();
    duplex.reset();
    request.reset();
    stop.clear();
    route = nullptr;
    handler = nullptr;
    chain = nullptr;
    composition = nullptr;
    host = nullptr;
    observed = Observed();
    entered = 0;
    params.clear();
    head.clear();
    arena.clear();
  }
};

// Returns how much of the content that a handler has read it may still hold: uploads gather 64 KiB
// before they write.
inline std::size_t bytes_read(const ExchangeState& exchange) noexcept {
  constexpr std::uint64_t gathered_max = 64 * 1024;
  return static_cast<std::size_t>(std::min(exchange.observed.received, gathered_max));
}

}  // namespace h2server::http
