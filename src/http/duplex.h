// Duplex: a handler that writes its response while it reads the request, as a handler that returns
// a response and a source for its body. One thread.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "h2server/body.h"
#include "h2server/exchange.h"
#include "h2server/handler.h"
#include "h2server/stop.h"
#include "h2server/task_group.h"

namespace h2server::http {

struct ExchangeState;

class Duplex {
 public:
  // `exchange`, which has a request, must outlive this.
  explicit Duplex(ExchangeState& exchange) noexcept;

  // Runs the handler until it has sent the head, and returns that with a source for the body. What
  // the handler throws before is thrown; what it throws later makes the source fail. `handler` must
  // outlive this. Called once.
  Task<Response> begin(const Handler::Duplex& handler);
  // Nobody reads the source: the response has no content, or was replaced.
  void discard() noexcept;
  // Returns true if the handler runs, which may go on after the end of the body.
  [[nodiscard]] bool running() const noexcept { return handler_.running() > 0; }
  // Waits for the handler's end. Nobody reads the source any more.
  auto join() noexcept {
    joining_ = true;
    notify(idle_wanted_);
    return handler_.join();
  }
  // For the handler, before it blocks its thread. Waits until the connection waits for the handler,
  // and so has sent what that has written.
  Task<void> hand_over();

  // For Exchange.
  [[nodiscard]] Request& request() const noexcept { return request_; }
  void respond(Response head);
  Task<Result<void>> write(std::string piece);
  void finish(std::vector<Response::Line> trailers);

 private:
  class Source;
  struct Idle;

  Task<void> run(const Handler::Duplex& handler);
  Task<Result<std::string_view>> read();
  static void notify(coro::StoppableWait*& waiting);

  ExchangeState& state_;
  Request& request_;
  coro::StopState& stop_;
  Exchange exchange_{*this};
  TaskGroup handler_;
  std::optional<Response> head_;
  bool responded_ = false;
  bool discarded_ = false;
  bool finished_ = false;  // no more pieces follow
  bool cut_ = false;       // the handler was stopped, and ended without finish()
  bool joining_ = false;
  std::exception_ptr failure_;  // what the handler threw
  std::string current_;         // lent to the reader
  std::optional<std::string> next_;
  std::vector<Response::Line> trailer_lines_;
  std::vector<Field> trailers_;  // views of trailer_lines_
  // Each lives in the frame of who waits.
  coro::StoppableWait* head_wanted_ = nullptr;
  coro::StoppableWait* piece_wanted_ = nullptr;
  coro::StoppableWait* room_wanted_ = nullptr;
  coro::StoppableWait* idle_wanted_ = nullptr;
};

}  // namespace h2server::http
