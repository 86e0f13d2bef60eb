// ServerContext: what the connections of one worker share, and how they call handlers. One thread.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>

#include "base/counter.h"
#include "h2server/limits.h"
#include "http/date_cache.h"
#include "http/drain_list.h"
#include "http/exchange.h"
#include "http/router.h"

namespace h2server::io {
class Engine;
}

namespace h2server::http {

class WindowBudget;
struct Composition;

struct ServerContext {
  const Router& router;
  const Limits& limits;
  DateCache date{};
  DrainList connections{};
  base::Counter* streams = nullptr;  // open HTTP/2 streams; may be null
  // The pattern of the last route taken, for reports of a worker that is stuck; may be null.
  std::atomic<const std::string*>* last_route = nullptr;
  const Composition* composition = nullptr;  // beside the router; null: nothing
  WindowBudget* windows = nullptr;           // for the growth of receive windows; null: none
};

// Parses the target of `exchange.head` and looks for the handler. Returns true if answer_at_once()
// has to be called (http/answer.h). Otherwise `exchange.response` is the answer.
bool find_handler(const ServerContext& context, ExchangeState& exchange);

// Describes a request for the operator: "GET /slow/1 (route /slow/{n})".
std::string describe(const ExchangeState& exchange);
// Reads the next piece of a response's body. What the source throws becomes an error, since the
// head has been sent.
Task<Result<std::string_view>> read_source(BodySource& source, coro::StopState& stop);

// Waits for what the body needs when next_size() is 0: a piece of its source, or its file in the
// page cache. Returns false if the body can't be completed. The source has the stop state `stop`.
Task<bool> pull(io::Engine& engine, OutgoingBody& body, coro::StopState& stop);

}  // namespace h2server::http
