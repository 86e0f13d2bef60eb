#include "http/h2/connection.h"

#include <cerrno>

#include "http/connection_body.h"
#include "http/h2/response_fields.h"
#include "http/message.h"

namespace h2server::http::h2 {

Connection::Connection(net::Stream& stream, Service& service, base::Pool<Transfer>& transfers,
                       Implementation implementation, bool encrypted)
    : stream_(stream),
      service_(service),
      transfers_(transfers),
      encrypted_(encrypted),
      session_(make_session(implementation, service.limits, transfers, service.windows)),
      opened_ms_(stream.engine().now_ms()),
      progress_ms_(opened_ms_) {
  service.connections.add(*this);
}

Connection::~Connection() {
  ASSERT(first_ == nullptr);
  DrainList::remove(*this);
}

void Connection::drain() {
  if (session_ == nullptr || closing_) return;
  session_->drain();
  want_write();
  hurry();
}

// While the server stops, a client with nothing under way is not waited for long.
void Connection::hurry() {
  if (first_ != nullptr || closing_ || !service_.connections.draining()) return;
  read_again_ = true;
  stream_.cancel_read();
}

std::uint32_t Connection::silence_ms_max() const noexcept {
  if (!session_->acknowledged()) return service_.limits.settings_ack_ms_max;
  const bool hurries = service_.connections.draining() && first_ == nullptr;
  return hurries ? service_.limits.goaway_ms_max : service_.limits.idle_ms_max;
}

// RFC 9113, 6.5.3.
bool Connection::settings_overdue() const noexcept {
  const std::int64_t age_ms = stream_.engine().now_ms() - opened_ms_;
  return age_ms >= service_.limits.settings_ack_ms_max && !session_->acknowledged();
}

void Connection::take(std::string_view bytes) {
  if (session_ != nullptr && !bytes.empty()) receive(bytes);
}

// Idle, a connection has this frame and the writer's, so they hold little.
Task<void> Connection::run() {
  if (session_ == nullptr) co_return;  // no memory
  if (service_.connections.draining()) session_->drain();
  output_wanted_.set();
  tasks_.start(write_all());
  bool more = !session_->failed();
  while (more && !closing_ && !session_->finished()) {
    Result<io::Lease> lease = co_await stream_.read(silence_ms_max());
    if (lease) {
      peer_ended_ = lease->empty();
      more = !peer_ended_ && receive(lease->bytes());
    } else {
      more = read_on_after(lease.error().code);
    }
  }
  closing_ = true;
  output_wanted_.set();
  co_await writer_ended_.wait();
  close_all();
  co_await tasks_.join();
  if (broken_) co_return;
  if (peer_ended_ || service_.connections.draining()) {
    co_await stream_.finish(service_.limits.send_idle_ms_max);
  } else {
    co_await net::linger(stream_, service_.limits.linger_ms_max);
  }
}

// The session is not asked for frames any more, so the transfers may go before it does.
void Connection::close_all() {
  receiving_ = true;
  // All of them first: a handler that is told may wake another one, which must not ask the session
  // for anything either.
  for (Transfer* transfer = first_; transfer != nullptr; transfer = transfer->next) {
    transfer->closed = true;
  }
  for (Transfer* transfer = first_; transfer != nullptr;) {
    if (std::exchange(transfer->unwound, true)) {
      transfer = transfer->next;
      continue;
    }
    close(*transfer);
    transfer = first_;  // from the start: a handler that is told may end others
  }
}

// --- bytes ------------------------------------------------------------------------------------

// Whether to read again when a read has failed. Silence ends the connection unless it is our own
// work that the peer waits for; the writer cancels when it has found that all is said.
bool Connection::read_on_after(int error) {
  if (error == ECANCELED) return std::exchange(read_again_, false);
  if (error != ETIMEDOUT) return false;
  if (settings_overdue()) {
    session_->terminate(ErrorCode::settings_timeout);
    return false;
  }
  // What it takes slowly has a deadline of its own.
  if (writing_now_ || !waits_for_peer_only()) return true;
  session_->terminate(ErrorCode::no_error);
  return false;
}

// What arrived, and everything that follows from it; then one write. False: the end.
bool Connection::receive(std::string_view bytes) {
  session_->receive(bytes, stream_.engine().now_ms());
  receiving_ = true;
  handle_events();
  if (settings_overdue()) session_->terminate(ErrorCode::settings_timeout);
  // PINGs keep a connection alive, but not streams that get nowhere.
  const std::int64_t silent_ms = stream_.engine().now_ms() - progress_ms_;
  if (first_ != nullptr && !writing_now_ && silent_ms >= service_.limits.idle_ms_max &&
      waits_for_peer_only()) {
    session_->terminate(ErrorCode::no_error);
  }
  receiving_ = false;
  output_wanted_.set();
  return !session_->failed();
}

void Connection::handle_events() {
  SessionEvent event;
  while (session_->next(event)) handle(event);
}

void Connection::want_write() {
  if (!receiving_) output_wanted_.set();
}

std::size_t Connection::output_bytes_max() const noexcept {
  return stream_.bytes_go_to_kernel() ? service_.limits.output_bytes_max
                                      : service_.limits.copied_bytes_max;
}

// Until the session has nothing more to say, or nobody to say it to.
Task<void> Connection::write_all() {
  for (;;) {
    co_await output_wanted_.wait();
    bool written = true;
    do {
      const std::size_t before = session_->output().size();
      session_->produce(output_bytes_max());
      const bool progresses = session_->output().size() > before;
      handle_events();
      if (session_->failed()) closing_ = true;
      if (session_->output().empty()) break;
      writing_.swap(session_->output());
      writing_now_ = true;
      const Result<void> sent = co_await stream_.write(writing_, service_.limits.send_idle_ms_max);
      writing_now_ = false;
      if (progresses) progress_ms_ = stream_.engine().now_ms();
      written = sent.has_value();
    } while (written);
    if (!written) broken_ = true;
    if (broken_ || closing_ || session_->finished()) break;
  }
  closing_ = true;
  stream_.cancel_read();
  writer_ended_.set();
}

// Whether every transfer waits for the peer, and the peer for nothing of ours.
bool Connection::waits_for_peer_only() const noexcept {
  for (const Transfer* transfer = first_; transfer != nullptr; transfer = transfer->next) {
    const bool reading = transfer->readable.awaited();
    const bool sending = transfer->running == 0 || transfer->taken.awaited();
    if (!reading && !sending) return false;
  }
  return true;
}

// --- events -----------------------------------------------------------------------------------

void Connection::handle(const SessionEvent& event) {
  Transfer& transfer = *event.transfer;
  switch (event.kind) {
    case SessionEvent::Kind::request:
      progress_ms_ = stream_.engine().now_ms();
      begin(transfer);
      return;
    case SessionEvent::Kind::data:
      progress_ms_ = stream_.engine().now_ms();
      keep(transfer, event.bytes);
      return;
    case SessionEvent::Kind::ended:
      transfer.readable.set();
      return;
    case SessionEvent::Kind::closed:
      close(transfer);
      return;
    case SessionEvent::Kind::body_taken:
      transfer.taken.set();
      return;
  }
}

void Connection::begin(Transfer& transfer) {
  ++alive_;
  ++requests_;
  if (service_.streams != nullptr) service_.streams->up();
  transfer.next = first_;
  if (first_ != nullptr) first_->previous = &transfer;
  first_ = &transfer;
  RequestHead& head = transfer.head;
  head.encrypted = encrypted_;
  // What came before the GOAWAY had left.
  const std::uint64_t requests_max = service_.limits.requests_per_connection;
  const bool beyond = requests_max != 0 && requests_ > requests_max;
  // Streams that were reset while their handlers still run don't count for the peer's limit, but
  // they do for ours: "rapid reset", CVE-2023-44487.
  if (beyond || alive_ > 2 * std::size_t{service_.limits.streams_max}) {
    session_->reset(transfer, ErrorCode::refused_stream);
    return;
  }
  if (requests_ == requests_max) session_->end_after(transfer);
  if (transfer.head_too_large) {
    transfer.response = error_response(431);
    respond(transfer);
    return;
  }
  const Handler* const handler = find_handler(service_, transfer);
  std::optional<Response> response;
  if (handler != nullptr) {
    Request request(head, transfer.params, nullptr);
    response = answer_at_once(*handler, request);
    if (response) transfer.response = *std::move(response);
  }
  if (handler != nullptr && !response) {
    transfer.reads = true;
    ++transfer.running;
    tasks_.start(answer(transfer, *handler));
    return;
  }
  respond(transfer);
  if (transfer.outgoing.is_pulled()) {
    ++transfer.running;
    tasks_.start(produce(transfer));
  }
}

void Connection::keep(Transfer& transfer, std::string_view bytes) {
  if (!transfer.reads || transfer.closed) {
    drop(transfer, bytes.size());
    return;
  }
  transfer.owes_continue = false;
  transfer.arrived.append(bytes);
  transfer.readable.set();
}

// Content that nobody reads: a little of it is let through, for much of it the stream is ended, as
// RFC 9113, 8.1 allows once the response has been sent.
void Connection::drop(Transfer& transfer, std::size_t bytes) {
  session_->consume(transfer, bytes);
  want_write();  // it may announce a larger window
  transfer.dropped += bytes;
  const bool answered = transfer.running == 0 && transfer.outgoing.finished();
  if (transfer.closed || !answered || transfer.dropped <= service_.limits.drain_bytes_max) return;
  session_->reset(transfer, ErrorCode::no_error);
}

void Connection::close(Transfer& transfer) {
  transfer.closed = true;
  ++transfer.running;  // resuming must not end it under our hands
  transfer.readable.set();
  transfer.taken.set();
  --transfer.running;
  release_if_done(transfer);
}

void Connection::release_if_done(Transfer& transfer) {
  if (transfer.running > 0 || !transfer.closed) return;
  if (!transfer.arrived.empty()) {
    session_->consume(transfer, transfer.arrived.size());
    want_write();
  }
  (transfer.previous != nullptr ? transfer.previous->next : first_) = transfer.next;
  if (transfer.next != nullptr) transfer.next->previous = transfer.previous;
  --alive_;
  if (service_.streams != nullptr) service_.streams->down();
  base::Pool<Transfer>::Pointer(&transfer, {&transfers_}).reset();
  hurry();
}

// --- answering --------------------------------------------------------------------------------

Task<void> Connection::answer(Transfer& transfer, const Handler& handler) {
  IncomingBody body(*this, transfer);
  Request request(transfer.head, transfer.params, &body);
  Response response = co_await call_coroutine(*handler.coroutine(), request);
  transfer.response = std::move(response);
  stop_reading(transfer);
  if (!transfer.closed) respond(transfer);
  co_await produce(transfer);
}

// Offers the session the response's body, where that has to be pulled, and lets the transfer go.
Task<void> Connection::produce(Transfer& transfer) {
  OutgoingBody& outgoing = transfer.outgoing;
  while (!transfer.closed && outgoing.is_pulled() && !outgoing.finished()) {
    if (outgoing.next_size(1) > 0) {
      co_await transfer.taken.wait();
      continue;
    }
    const bool pulled = co_await pull(stream_.engine(), outgoing);
    if (transfer.closed) break;
    if (pulled) {
      session_->body_offered(transfer);
    } else {
      session_->reset(transfer, ErrorCode::internal_error);
    }
    want_write();
    if (!pulled) break;
  }
  --transfer.running;
  release_if_done(transfer);
}

void Connection::respond(Transfer& transfer) {
  Response& response = transfer.response;
  const bool has_body = transfer.head.method != Method::HEAD &&
                        may_have_content(response.status()) && response.size() != 0;
  thread_local std::vector<Field> fields;  // keeps its memory; the session has read it at return
  ResponseHead head = response_head(response, transfer.arena, fields);
  head.date_s = stream_.engine().unix_seconds();
  head.date = service_.date.at(head.date_s);
  if (has_body) {
    transfer.outgoing.open(response, !stream_.bytes_go_to_kernel(),
                           service_.limits.inline_file_bytes_max);
    warm_at_once(transfer.outgoing);
  }
  session_->respond(transfer, head, has_body);
  want_write();
}

// The handler has answered: what it left unread is dropped.
void Connection::stop_reading(Transfer& transfer) {
  transfer.reads = false;
  const std::size_t unread = transfer.arrived.size();
  transfer.arrived.clear();
  transfer.lent = 0;
  if (unread > 0) drop(transfer, unread);
}

Task<Result<std::string_view>> Connection::IncomingBody::read() {
  Transfer& transfer = transfer_;
  Connection& self = connection_;
  if (transfer.lent > 0) {
    self.session_->consume(transfer, transfer.lent);
    transfer.arrived.consume(std::exchange(transfer.lent, 0));
    self.want_write();
  }
  for (;;) {
    if (!transfer.arrived.empty()) {
      const std::string_view piece = transfer.arrived.front();
      transfer.lent = piece.size();
      co_return piece;
    }
    if (transfer.ended) co_return std::string_view();
    if (transfer.closed) co_return std::unexpected(Error{ECONNRESET, "request body"});
    if (std::exchange(transfer.owes_continue, false)) {
      self.session_->inform_continue(transfer);
      self.want_write();
    }
    co_await transfer.readable.wait();
  }
}

}  // namespace h2server::http::h2
