#include "http/h2/connection.h"

#include <algorithm>
#include <cerrno>
#include <utility>

#include "http/answer.h"
#include "http/h2/response_fields.h"
#include "http/message.h"

namespace h2server::http::h2 {

namespace {

// Unread content from which on the connection is read slowly. A form of 600 MB over loopback needed
// 11 MiB of memory with it and 133 MiB without, at the same speed.
constexpr std::uint32_t unread_bytes_max = 8 * 1024 * 1024;

}  // namespace

Connection::Connection(net::Transport& transport, WorkerContext& context,
                       base::Pool<H2Exchange>& exchanges, std::unique_ptr<Session> session,
                       const ConnectionTraits& traits)
    : transport_(transport),
      context_(context),
      exchanges_(exchanges),
      traits_(traits),
      session_(std::move(session)),
      sending_(context.limits.send_idle_ms_max, context.limits.bytes_per_s_min),
      opened_ms_(transport.engine().now_ms()),
      active_ms_(opened_ms_),
      quiet_from_ms_(opened_ms_),
      checked_ms_(opened_ms_) {
  context.connections.add(*this);
}

Connection::~Connection() {
  ASSERT(first_ == nullptr);
  context_.connections.remove(*this);
}

void Connection::drain() {
  if (closing_) return;
  session_->drain();
  want_write();
  shorten_idle_timeout();
}

void Connection::cancel() {
  for (H2Exchange* exchange = first_; exchange != nullptr;) {
    if (exchange->handling.running == 0 || exchange->stop.stopped()) {
      exchange = exchange->handling.next;
      continue;
    }
    stop(*exchange, StopReason::server_stops);
    exchange = first_;  // restart: a stopped handler may release others
  }
}

// Stops the exchange's token. Its handler may end, but the exchange lives until the return.
void Connection::stop(H2Exchange& exchange, StopReason reason) {
  ++exchange.handling.running;
  exchange.stop.stop(reason);
  --exchange.handling.running;
  release_if_done(exchange);
}

// Resets a stream whose response has begun and can't be completed.
void Connection::give_up_response(H2Exchange& exchange) {
  if (exchange.handling.closed || exchange.outgoing.finished()) return;
  // A handler that writes may still end its response, unless the client takes nothing.
  const bool writes = exchange.duplex != nullptr && exchange.duplex->running();
  const bool takes = exchange.outgoing.next_size(1) == 0 && !exchange.handling.wanted.awaited();
  if (writes && takes) return;
  session_->reset(exchange, ErrorCode::cancel);
  want_write();
}

// RFC 9113, 6.8: the client may retry on another connection.
void Connection::shed() {
  if (closing_) return;
  shed_ = true;
  session_->terminate(ErrorCode::no_error);
  want_write();
}

// During a drain, restarts the read of a connection without streams with a shorter timeout.
void Connection::shorten_idle_timeout() {
  if (first_ != nullptr || closing_ || !context_.connections.draining()) return;
  read_again_ = true;
  transport_.cancel_read();
}

void Connection::take(std::string_view early, io::Lease first) {
  if (!early.empty()) receive(early);
  if (!first.empty()) receive(first.bytes());
  if (paused_) kept_ = std::move(first);
}

// An idle connection keeps only this coroutine's frame and the writer's, so both are small.
Task<void> Connection::run() {
  if (context_.connections.draining()) session_->drain();
  output_wanted_.set();
  tasks_.start(write_all());
  bool more = !session_->failed();
  if (paused_) {
    more = co_await handle_rest();
    kept_.end();  // nobody has borrowed it
  }
  while (more && !closing_ && !session_->finished()) {
    if (first_ == nullptr && !std::exchange(idle_, true)) context_.connections.set_idle(*this);
    if (session_->unread() > unread_bytes_max) {
      co_await wait_for_handlers();
      if (closing_) break;
    }
    Result<io::Lease> lease = co_await transport_.read(wait_ms());
    if (lease) {
      peer_ended_ = lease->empty();
      lending_ = lease->bytes();
      more = !peer_ended_ && receive(lease->bytes());
      if (paused_) more = co_await handle_rest();
      lending_ = {};
      if (borrower_ != nullptr && kept_.empty()) kept_ = *std::move(lease);
    } else {
      more = read_on_after(lease.error().code);
    }
  }
  closing_ = true;
  output_wanted_.set();
  co_await writer_ended_.wait();
  if (traits_.observer != nullptr && session_->error().code != 0) {
    traits_.observer->failed(session_->error());
  }
  close_all();
  co_await tasks_.join();
  if (broken_) co_return;
  // A drained connection that was idle has nothing to lose: by answering the PING of the drain, the
  // client says that it has read what came before.
  const bool drained_idle = context_.connections.draining() && !served_in_drain_;
  if (peer_ended_ || shed_ || drained_idle) {
    const Limits& limits = context_.limits;
    co_await transport_.finish(shed_ ? limits.linger_ms_max : limits.send_idle_ms_max);
  } else {
    co_await net::linger(transport_, context_.limits.linger_ms_max);
  }
}

// Waits until handlers have read, so that TCP's window slows a client whose windows of HTTP/2 are
// wide, and little is held in memory. Only for a tick of the timers: frames of other streams may
// follow.
Task<void> Connection::wait_for_handlers() {
  io::SleepOp sleep(transport_.engine(), 1);
  lag_ = &sleep;
  co_await sleep;
  lag_ = nullptr;
}

// Handles the rest of the received bytes in turns to come. Yields as handle_received().
Task<bool> Connection::handle_rest() {
  bool more = true;
  while (paused_) {
    io::SleepOp turn(engine_, 0);
    const bool goes_on = co_await turn;
    if (!goes_on) closing_ = true;
    more = handle_received();
  }
  co_return more;
}

void Connection::consume(H2Exchange& exchange, std::size_t bytes, Consumed by) {
  session_->consume(exchange, bytes, by);
  if (lag_ == nullptr || session_->unread() > unread_bytes_max / 2) return;
  std::exchange(lag_, nullptr)->cancel();
}

// Closes all exchanges. The session produces no more frames, so they may be released before it.
void Connection::close_all() {
  receiving_ = true;
  // Mark all first: a notified handler may resume another one, which must not use the session
  // either.
  for (H2Exchange* exchange = first_; exchange != nullptr; exchange = exchange->handling.next) {
    exchange->handling.closed = true;
  }
  for (H2Exchange* exchange = first_; exchange != nullptr;) {
    if (std::exchange(exchange->handling.unwound, true)) {
      exchange = exchange->handling.next;
      continue;
    }
    close(*exchange);
    exchange = first_;  // restart: a notified handler may release others
  }
}

// --- bytes ------------------------------------------------------------------------------------

// Returns true if the connection continues after a failed read. ECANCELED comes from
// shorten_idle_timeout(), or from the writer at its end.
bool Connection::read_on_after(int error) {
  if (error == ECANCELED) return std::exchange(read_again_, false);
  if (error != ETIMEDOUT) return false;
  receiving_ = true;
  check_deadlines();
  receiving_ = false;
  output_wanted_.set();
  return !session_->failed();
}

// Handles received bytes. Returns as handle_received().
bool Connection::receive(std::string_view bytes) {
  active_ms_ = engine_.now_ms();
  session_->receive(bytes, active_ms_);
  if (traits_.observer != nullptr) received_us_ = traits_.observer->now_us();
  return handle_received();
}

// Handles the events that received bytes cause, all or until paused_, then requests one write.
// Returns false if the session has failed.
bool Connection::handle_received() {
  const bool paused_before = std::exchange(paused_, false);
  receiving_ = true;
  handle_events();
  if (!paused_) watch_block();
  // After a pause, what the client has sent in time may be unread.
  if (!paused_ && !paused_before) check_deadlines();
  receiving_ = false;
  output_wanted_.set();
  return !session_->failed();
}

void Connection::handle_events() {
  SessionEvent event;
  while (!paused_ && session_->next(event)) {
    handle(event);
    if (event.kind == SessionEvent::Kind::request) pause_in_long_turn();
  }
}

// One client's requests come by the hundred in one read, and many clients' in one turn. Others that
// have come meanwhile need not wait for all of them. In short turns all leave in one write.
void Connection::pause_in_long_turn() noexcept {
  constexpr unsigned requests_at_once = 8;
  if (requests_ % requests_at_once != 0 || closing_ || is_cut_off()) return;
  paused_ = engine_.turn_ms() >= io::Engine::long_turn_ms;
}

void Connection::want_write() {
  if (!receiving_) output_wanted_.set();
}

std::size_t Connection::output_bytes_max() const noexcept {
  const Limits& limits = context_.limits;
  return transport_.whole_sends(transport_.bytes_go_to_kernel() ? limits.output_bytes_max
                                                                : limits.copied_bytes_max);
}

// Writes the session's output until the session is finished, the connection closes or a write
// fails.
Task<void> Connection::write_all() {
  for (;;) {
    co_await output_wanted_.wait();
    bool written = true;
    do {
      do {  // what bodies give at once leaves in the same write
        offered_ = false;
        session_->produce(output_bytes_max());
        handle_events();
      } while (offered_ && !session_->failed() && session_->output().size() < output_bytes_max());
      if (heads_bytes_ >= heads_due_) give_back_heads();
      if (session_->failed()) closing_ = true;
      if (session_->output().empty()) break;
      writing_.swap(session_->output());
      writing_now_ = true;
      const Result<void> sent = co_await transport_.write(writing_, sending_);
      writing_now_ = false;
      written = sent.has_value();
      if (!written) note_failed_write(sent.error());
    } while (written);
    if (!written) broken_ = true;
    if (broken_ || closing_ || (session_->finished() && !paused_)) break;
  }
  closing_ = true;
  transport_.cancel_read();
  writer_ended_.set();
}

void Connection::note_failed_write(const Error& error) {
  for (H2Exchange* exchange = first_; exchange != nullptr; exchange = exchange->handling.next) {
    http::note_failed_write(*exchange, error);
  }
}

// --- events -----------------------------------------------------------------------------------

void Connection::handle(const SessionEvent& event) {
  H2Exchange& exchange = *event.exchange;
  switch (event.kind) {
    case SessionEvent::Kind::request:
      begin(exchange);
      return;
    case SessionEvent::Kind::data:
      keep(exchange, event.bytes);
      return;
    case SessionEvent::Kind::ended:
      if (exchange.session.trailers.size() > 0) {
        count_head(exchange);
        if (head_exceeds_limit(exchange)) session_->reset(exchange, ErrorCode::enhance_your_calm);
      }
      exchange.handling.readable.set();
      return;
    case SessionEvent::Kind::closed:
      close(exchange);
      return;
    case SessionEvent::Kind::body_wanted:
      exchange.handling.wanted.set();
      return;
  }
}

void Connection::begin(H2Exchange& exchange) {
  admit(exchange);
  if (closing_ || is_cut_off()) return;  // after a pause: close_all() releases it
  exchange.observed.begun_us = received_us_;
  RequestHead& head = exchange.head;
  head.encrypted = traits_.encrypted;
  // Requests that the client sent before it saw the GOAWAY.
  const std::uint64_t requests_max = context_.limits.requests_per_connection;
  const bool beyond = requests_max != 0 && requests_ > requests_max;
  // A reset stream whose handler still runs does not count for the peer's limit, but it does for
  // ours: "rapid reset", CVE-2023-44487.
  count_head(exchange);
  if (beyond || alive_ > 2 * std::size_t{context_.limits.streams_max} ||
      head_exceeds_limit(exchange)) {
    refuse(exchange);
    return;
  }
  if (requests_ == requests_max) session_->end_after(exchange);
  if (exchange.session.head_too_large) {
    exchange.response = error_response(431);
    respond(exchange);
    return;
  }
  exchange.head.received_s = engine_.unix_seconds();
  ++exchange.handling.running;  // until it is answered
  const bool found = find_handler(context_, traits_, exchange);
  count_head(exchange);  // with the decoded path
  if (found) {
    exchange.incoming.bind(*this, exchange);
    exchange.stop.observe(&exchange.incoming);
    exchange.stop.work_for(traits_.client);
    exchange.request.emplace(head, exchange.params, &exchange.incoming, &exchange.stop,
                             &transport_);
    exchange.handling.reads = true;
    std::optional<Response> response = answer_at_once(exchange, Begin::coroutines);
    if (!response) {
      tasks_.start(answer(exchange));
      return;
    }
    exchange.response = *std::move(response);
  }
  if (!exchange.handling.closed) respond(exchange);
  if (exchange.outgoing.source() == nullptr) stop_reading(exchange);
  if (exchange.outgoing.is_pulled()) {
    tasks_.start(produce(exchange));
    return;
  }
  --exchange.handling.running;
  if (exchange.handling.closed) release_if_done(exchange);
}

void Connection::admit(H2Exchange& exchange) {
  const Limits& limits = context_.limits;
  if (alive_ == 0) {
    idle_ = false;
    context_.connections.set_busy(*this);
    checked_ms_ = engine_.now_ms();
  }
  ++alive_;
  ++requests_;
  if (context_.streams != nullptr) context_.streams->up();
  exchange.handling.next = first_;
  if (first_ != nullptr) first_->handling.previous = &exchange;
  first_ = &exchange;
  exchange.pace.receiving = base::Pace(limits.body_idle_ms_max, limits.bytes_per_s_min);
  exchange.pace.sending = base::Pace(limits.send_idle_ms_max, limits.bytes_per_s_min);
}

// Discards content that is not read. Resets the stream if there is much of it, which RFC 9113, 8.1
// allows once the response has been sent.
void Connection::drop(H2Exchange& exchange, std::size_t bytes) {
  consume(exchange, bytes, Consumed::dropped);
  want_write();  // a WINDOW_UPDATE may be due
  exchange.handling.dropped += bytes;
  const bool answered = exchange.handling.running == 0 && exchange.outgoing.finished();
  if (exchange.handling.closed || !answered ||
      exchange.handling.dropped <= context_.limits.drain_bytes_max)
    return;
  session_->reset(exchange, ErrorCode::no_error);
}

void Connection::close(H2Exchange& exchange) {
  exchange.handling.closed = true;
  ++exchange.handling.running;  // keeps the exchange alive while its waiters run
  // A handler may go on when both directions have ended.
  const bool whole = exchange.handling.responded() && exchange.outgoing.finished() &&
                     exchange.session.ended && !closing_;
  const bool reset = exchange.session.reset || !whole;
  if (const Error* const error = exchange.outgoing.failure()) {
    report_cut_off(exchange, *error);
    exchange.observed.cut_off = CutOff::failed;
  }
  if (reset && !closing_ && traits_.observer != nullptr) {
    traits_.observer->reset(!exchange.session.reset);
  }
  if (!whole) exchange.stop.stop(StopReason::client_left);
  exchange.handling.readable.set();
  exchange.handling.wanted.set();
  --exchange.handling.running;
  release_if_done(exchange);
}

void Connection::release_if_done(H2Exchange& exchange) {
  if (exchange.handling.running > 0 || !exchange.handling.closed) return;
  const std::size_t unread = take_back(exchange) + exchange.handling.arrived.size();
  if (unread > 0) {
    consume(exchange, unread, Consumed::dropped);
    want_write();
  }
  (exchange.handling.previous != nullptr ? exchange.handling.previous->handling.next : first_) =
      exchange.handling.next;
  if (exchange.handling.next != nullptr)
    exchange.handling.next->handling.previous = exchange.handling.previous;
  --alive_;
  forget_head(exchange);
  if (exchange.observed.begun_us != 0) observe_end(exchange);
  if (alive_ == 0) active_ms_ = quiet_from_ms_ = engine_.now_ms();
  if (context_.streams != nullptr) context_.streams->down();
  served_in_drain_ |= context_.connections.draining();
  base::Pool<H2Exchange>::Pointer(&exchange, {&exchanges_}).reset();
  shorten_idle_timeout();
}

// --- answering --------------------------------------------------------------------------------

Task<void> Connection::answer(H2Exchange& exchange) {
  Response response = co_await http::answer(exchange);
  exchange.response = std::move(response);
  if (!exchange.handling.closed) {
    note_first_byte(exchange);
    respond(exchange);
  }
  // The source of the response's body may still read the request's body.
  if (exchange.outgoing.source() == nullptr && exchange.duplex == nullptr) stop_reading(exchange);
  co_await produce(exchange);
}

// Offers the session the response's body if it must be pulled, then releases the exchange.
Task<void> Connection::produce(H2Exchange& exchange) {
  OutgoingBody& outgoing = exchange.outgoing;
  while (!exchange.handling.closed && outgoing.is_pulled() && !outgoing.finished()) {
    // Nothing is produced for a client that takes nothing.
    co_await exchange.handling.wanted.wait();
    if (exchange.handling.closed || outgoing.finished() || outgoing.next_size(1) > 0) continue;
    const bool pulled = co_await pull(transport_.engine(), exchange);
    if (exchange.handling.closed) break;
    if (pulled) {
      session_->body_offered(exchange);
      offered_ = true;
    } else {
      if (!exchange.stop.stopped()) exchange.observed.cut_off = CutOff::failed;
      session_->reset(exchange,
                      exchange.stop.stopped() ? ErrorCode::cancel : ErrorCode::internal_error);
    }
    want_write();
    if (!pulled) break;
  }
  if (exchange.duplex != nullptr) co_await exchange.duplex->join();
  if (exchange.handling.reads) stop_reading(exchange);
  --exchange.handling.running;
  release_if_done(exchange);
}

void Connection::respond(H2Exchange& exchange) {
  Response& response = exchange.response;
  exchange.handling.progress = Progress::responded;  // no 100 follows (RFC 9110, 10.1.1)
  const bool has_body = exchange.head.method != Method::HEAD &&
                        may_have_content(response.status()) && may_have_bytes(response);
  thread_local std::vector<Field> fields;  // reused; the session has read it at return
  ResponseHead head = response_head(response, exchange.arena, fields);
  head.date_s = engine_.unix_seconds();
  head.date = context_.date.at(head.date_s);
  if (has_body) {
    exchange.outgoing.open(response, {.copy = !transport_.bytes_go_to_kernel(),
                                      .inline_bytes_max = context_.limits.inline_file_bytes_max});
    exchange.outgoing.make_resident_at_once();
  } else if (exchange.duplex != nullptr) {
    exchange.duplex->discard();
  }
  session_->respond(exchange, head, has_body);
  if (!exchange.outgoing.finished()) {
    note_first_byte(exchange);
    exchange.outgoing.count_memory();
  }
  want_write();
}

// Ends reading of the request's body. Discards what is unread.
void Connection::stop_reading(H2Exchange& exchange) {
  exchange.handling.reads = false;
  exchange.handling.lent = 0;
  const std::size_t unread = take_back(exchange) + exchange.handling.arrived.size();
  if (unread == 0) return;
  exchange.handling.arrived.clear();
  drop(exchange, unread);
}

}  // namespace h2server::http::h2
