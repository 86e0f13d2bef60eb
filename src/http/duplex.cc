#include "http/duplex.h"

#include <cerrno>
#include <expected>
#include <memory>
#include <stdexcept>
#include <utility>

#include "http/answer.h"

namespace h2server {

Request& Exchange::request() const noexcept { return duplex_.request(); }
void Exchange::respond(Response head) { duplex_.respond(std::move(head)); }
Task<Result<void>> Exchange::write(std::string piece) { return duplex_.write(std::move(piece)); }
void Exchange::finish(std::vector<Response::Line> trailers) { duplex_.finish(std::move(trailers)); }

namespace http {

class Duplex::Source final : public BodySource {
 public:
  explicit Source(Duplex& duplex) noexcept : duplex_(duplex) {}
  Source(const Source&) = delete;
  Source& operator=(const Source&) = delete;
  ~Source() override { duplex_.discard(); }
  Task<Result<std::string_view>> read() override { return duplex_.read(); }
  std::span<const Field> trailers() const noexcept override { return duplex_.trailers_; }

 private:
  Duplex& duplex_;
};

// The connection's wait for a piece. The handler goes on once that has begun.
struct Duplex::Idle {
  Duplex& duplex;
  coro::StoppableWait& wait;

  bool await_ready() const noexcept { return wait.await_ready(); }
  void await_suspend(std::coroutine_handle<> waiter) const {
    wait.regardless().await_suspend(waiter);
    notify(duplex.idle_wanted_);  // may end the wait, and destroy this
  }
  void await_resume() const noexcept {}
};

Duplex::Duplex(ExchangeState& exchange) noexcept
    : state_(exchange), request_(*exchange.request), stop_(exchange.stop) {}

void Duplex::notify(coro::StoppableWait*& waiting) {
  if (waiting != nullptr) std::exchange(waiting, nullptr)->complete();
}

Task<Response> Duplex::begin(const Handler::Duplex& handler) {
  handler_.start(run(handler));
  if (!head_ && !finished_) {
    coro::StoppableWait wait;
    head_wanted_ = &wait;
    // Not ended by the token: the handler, which is, answers or ends.
    co_await wait.regardless();
  }
  if (!head_) {
    if (failure_) std::rethrow_exception(std::exchange(failure_, nullptr));
    if (stop_.stopped())
      throw std::bad_expected_access(Error{ECANCELED, "the handler was stopped"});
    throw std::logic_error("the handler ended without a response");
  }
  Response response = *std::move(head_);
  head_.reset();
  response.set_body(Response::Streamed{std::make_unique<Source>(*this), std::nullopt});
  co_return std::move(response);
}

Task<void> Duplex::run(const Handler::Duplex& handler) {
  try {
    Task<void> task = handler(exchange_);
    task.stop_by(stop_);
    co_await task;
  } catch (...) {
    failure_ = std::current_exception();
  }
  if (finished_ || discarded_) failure_ = nullptr;  // the response is complete
  cut_ = !finished_ && stop_.stopped();
  if (failure_ && responded_) report_cut_off(state_, failure_);
  finished_ = true;
  notify(head_wanted_);
  notify(piece_wanted_);
}

Task<void> Duplex::hand_over() {
  const bool needed = responded_ && piece_wanted_ == nullptr && !joining_;
  if (!needed || idle_wanted_ != nullptr) co_return;  // or another task waits already
  coro::StoppableWait wait;
  idle_wanted_ = &wait;
  co_await wait;
  idle_wanted_ = nullptr;
}

void Duplex::discard() noexcept {
  discarded_ = true;
  next_.reset();
  notify(room_wanted_);
}

// --- the handler's side -----------------------------------------------------------------------

void Duplex::respond(Response head) {
  if (responded_) throw std::logic_error("a second head of a response");
  if (!std::holds_alternative<std::monostate>(head.body()))
    throw std::logic_error("the head of a response with a body: write() sends that");
  responded_ = true;
  head_ = std::move(head);
  notify(head_wanted_);
}

Task<Result<void>> Duplex::write(std::string piece) {
  if (!responded_ || finished_) throw std::logic_error("write() outside of a response");
  if (stop_.stopped()) co_return std::unexpected(Error{ECANCELED, "write"});
  if (next_) {
    if (room_wanted_ != nullptr) throw std::logic_error("two tasks write one response");
    coro::StoppableWait wait;
    room_wanted_ = &wait;
    const bool has_room = co_await wait;
    room_wanted_ = nullptr;
    if (!has_room) co_return std::unexpected(Error{ECANCELED, "write"});
  }
  // Otherwise a handler that writes for ever would never wait.
  if (discarded_) co_return std::unexpected(Error{EPIPE, "write"});
  if (piece.empty()) co_return {};  // it would end the body
  next_ = std::move(piece);
  notify(piece_wanted_);
  // The head has not been taken: nothing is sent before the handler waits.
  if (head_) co_await hand_over();
  co_return {};
}

void Duplex::finish(std::vector<Response::Line> trailers) {
  if (!responded_) throw std::logic_error("finish() before respond()");
  if (finished_) return;
  trailer_lines_ = std::move(trailers);
  for (const Response::Line& line : trailer_lines_) trailers_.push_back({line.name, line.value});
  finished_ = true;
  notify(piece_wanted_);
}

// --- the connection's side --------------------------------------------------------------------

// Returns the next piece, which stays valid until the next call.
Task<Result<std::string_view>> Duplex::read() {
  current_.clear();
  if (!next_ && !finished_) {
    coro::StoppableWait wait;
    piece_wanted_ = &wait;
    // Not ended by the token: the handler, which is, may still finish the response.
    co_await Idle{*this, wait};
    piece_wanted_ = nullptr;
  }
  if (!next_) {
    if (failure_) co_return std::unexpected(Error{0, "the handler threw"});
    if (cut_) co_return std::unexpected(Error{ECANCELED, "response"});
    co_return std::string_view();
  }
  current_ = *std::move(next_);
  next_.reset();
  notify(room_wanted_);
  co_return std::string_view(current_);
}

}  // namespace http

}  // namespace h2server
