// WorkerContext: what the connections of one worker share of the protocol, and how they call
// handlers. The server adds what it owns beside that (server/context.h). One thread.
#pragma once

#include <atomic>
#include <coroutine>
#include <cstdint>
#include <optional>
#include <string>

#include "base/counter.h"
#include "h2server/limits.h"
#include "http/drain_list.h"
#include "http/exchange.h"
#include "http/fields/date_cache.h"
#include "http/router.h"

namespace h2server::io {
class Engine;
}

namespace h2server::http {

class WindowBudget;
struct Composition;
struct ConnectionTraits;

// The last request for which there was a route, for reports of a worker that is held. Written by
// the worker's thread, read by any, which may see the method of one request and the route of
// another.
struct LastRoute {
  std::atomic<const std::string*> pattern{nullptr};  // null: there was none
  std::atomic<Method> method{Method::unknown};
};

struct WorkerContext {
  const Router& router;
  const Limits& limits;
  DateCache date{};
  DrainList connections{};
  base::Counter* streams = nullptr;          // open HTTP/2 streams; may be null
  LastRoute* last_route = nullptr;           // may be null
  const Composition* composition = nullptr;  // beside the router; null: nothing
  WindowBudget* windows = nullptr;           // for the growth of receive windows; null: none
};

// Parses the target of `exchange.head` and looks for the handler. Returns true if answer_at_once()
// has to be called (http/answer.h). Otherwise `exchange.response` is the answer.
bool find_handler(const WorkerContext& context, const ConnectionTraits& traits,
                  ExchangeState& exchange);

// Describes a request for the operator: "GET /slow/1 (route /slow/{n})".
std::string describe(const ExchangeState& exchange);

// What follows tells the operator why a body can't be completed.

// Awaited: the next piece of a response's body. What the source throws becomes an error, since the
// head has been sent. Has no frame of its own, because thousands of streams may wait here.
class NextPiece {
 public:
  // The body of `exchange`, which must outlive this, has a source.
  explicit NextPiece(ExchangeState& exchange) noexcept;

  bool await_ready() const noexcept { return !read_; }
  template <class Promise>
  bool await_suspend(std::coroutine_handle<Promise> waiter) noexcept {
    try {
      return read_->await_suspend(waiter);
    } catch (...) {
      fail();
      return false;
    }
  }
  Result<std::string_view> await_resume() noexcept;

 private:
  void fail() noexcept;

  ExchangeState& exchange_;
  std::optional<Task<Result<std::string_view>>> read_;  // none: the source threw
};

// Call when a write failed, with its error. EFAULT: a file that was written from its mapping has
// been truncated.
void note_failed_write(ExchangeState& exchange, const Error& error);

// Offers the body what NextPiece has yielded. Returns false if the body can't be completed.
[[nodiscard]] bool offer(ExchangeState& exchange, const Result<std::string_view>& piece);

// Waits until the next part of the body's file, which has one, is in the page cache. Returns false
// if the body can't be completed.
Task<bool> make_resident(io::Engine& engine, ExchangeState& exchange);

// Waits for what the body needs when next_size() is 0: one of the two. Returns false if the body
// can't be completed.
Task<bool> pull(io::Engine& engine, ExchangeState& exchange);

}  // namespace h2server::http
