#include "http/h2/connection.h"

#include <algorithm>
#include <cerrno>

#include "http/h2/response_fields.h"
#include "http/message.h"

namespace h2server::http::h2 {

namespace {

// Interval between pace checks, short compared with the slack of the paces.
std::int64_t check_ms(const Limits& limits) noexcept {
  constexpr std::int64_t check_ms_max = 5000;
  const auto slack_ms = std::min(limits.body_idle_ms_max, limits.send_idle_ms_max);
  return std::clamp<std::int64_t>(slack_ms / 8, 1, check_ms_max);
}

}  // namespace

Connection::Connection(net::Stream& stream, Service& service, base::Pool<Transfer>& transfers,
                       Http2Implementation implementation, bool encrypted)
    : stream_(stream),
      service_(service),
      transfers_(transfers),
      encrypted_(encrypted),
      session_(make_session(implementation, service.limits, transfers, service.windows)),
      sending_(service.limits.send_idle_ms_max, service.limits.bytes_per_s_min),
      opened_ms_(stream.engine().now_ms()),
      active_ms_(opened_ms_),
      quiet_from_ms_(opened_ms_),
      checked_ms_(opened_ms_) {
  service.connections.add(*this);
}

Connection::~Connection() {
  ASSERT(first_ == nullptr);
  service_.connections.remove(*this);
}

void Connection::drain() {
  if (closing_) return;
  session_->drain();
  want_write();
  hurry();
}

// RFC 9113, 6.8: the client may retry on another connection.
void Connection::shed() {
  if (closing_) return;
  shed_ = true;
  session_->terminate(ErrorCode::no_error);
  want_write();
}

void Connection::name_unfinished(std::vector<std::string>& names) const {
  for (const Transfer* transfer = first_; transfer != nullptr; transfer = transfer->next) {
    if (transfer->running > 0) names.push_back(describe(*transfer));
  }
}

// During a drain, restarts the read of a connection without streams with a shorter timeout.
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

// Returns the time until the next deadline or pace check, at least 1.
std::uint32_t Connection::wait_ms() const noexcept {
  const std::int64_t now_ms = stream_.engine().now_ms();
  std::int64_t wait_ms = silence_ms_max();
  if (block_due_ms_ != 0) wait_ms = std::min(wait_ms, block_due_ms_ - now_ms);
  if (first_ != nullptr) {
    wait_ms = std::min(wait_ms, checked_ms_ + check_ms(service_.limits) - now_ms);
  }
  return static_cast<std::uint32_t>(std::max<std::int64_t>(wait_ms, 1));
}

// RFC 9113, 6.5.3.
bool Connection::settings_overdue() const noexcept {
  const std::int64_t age_ms = stream_.engine().now_ms() - opened_ms_;
  return age_ms >= service_.limits.settings_ack_ms_max && !session_->acknowledged();
}

void Connection::take(std::string_view bytes) {
  if (!bytes.empty()) receive(bytes);
}

// An idle connection keeps only this coroutine's frame and the writer's, so both are small.
Task<void> Connection::run() {
  if (service_.connections.draining()) session_->drain();
  output_wanted_.set();
  tasks_.start(write_all());
  bool more = !session_->failed();
  while (more && !closing_ && !session_->finished()) {
    if (first_ == nullptr && !std::exchange(idle_, true)) service_.connections.set_idle(*this);
    Result<io::Lease> lease = co_await stream_.read(wait_ms());
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
  if (peer_ended_ || shed_ || service_.connections.draining()) {
    const Limits& limits = service_.limits;
    co_await stream_.finish(shed_ ? limits.linger_ms_max : limits.send_idle_ms_max);
  } else {
    co_await net::linger(stream_, service_.limits.linger_ms_max);
  }
}

// Closes all transfers. The session produces no more frames, so they may be released before it.
void Connection::close_all() {
  receiving_ = true;
  // Mark all first: a notified handler may resume another one, which must not use the session
  // either.
  for (Transfer* transfer = first_; transfer != nullptr; transfer = transfer->next) {
    transfer->closed = true;
  }
  for (Transfer* transfer = first_; transfer != nullptr;) {
    if (std::exchange(transfer->unwound, true)) {
      transfer = transfer->next;
      continue;
    }
    close(*transfer);
    transfer = first_;  // restart: a notified handler may release others
  }
}

// --- bytes ------------------------------------------------------------------------------------

// Returns true if the connection continues after a failed read. ECANCELED comes from hurry(), or
// from the writer at its end.
bool Connection::read_on_after(int error) {
  if (error == ECANCELED) return std::exchange(read_again_, false);
  if (error != ETIMEDOUT) return false;
  receiving_ = true;
  check_deadlines();
  receiving_ = false;
  output_wanted_.set();
  return !session_->failed();
}

// Handles received bytes and all events that they cause, then requests one write. Returns false if
// the session has failed.
bool Connection::receive(std::string_view bytes) {
  session_->receive(bytes, stream_.engine().now_ms());
  active_ms_ = stream_.engine().now_ms();
  receiving_ = true;
  handle_events();
  note_block();
  check_deadlines();
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

// Writes the session's output until the session is finished, the connection closes or a write
// fails.
Task<void> Connection::write_all() {
  for (;;) {
    co_await output_wanted_.wait();
    bool written = true;
    do {
      session_->produce(output_bytes_max());
      handle_events();
      if (session_->failed()) closing_ = true;
      if (session_->output().empty()) break;
      writing_.swap(session_->output());
      writing_now_ = true;
      const Result<void> sent = co_await stream_.write(writing_, sending_);
      writing_now_ = false;
      written = sent.has_value();
    } while (written);
    if (!written) broken_ = true;
    if (broken_ || closing_ || session_->finished()) break;
  }
  closing_ = true;
  stream_.cancel_read();
  writer_ended_.set();
}

// --- deadlines --------------------------------------------------------------------------------

// A field block has a deadline from its first byte to its last, like a head in HTTP/1.1.
void Connection::note_block() {
  const std::uint32_t block = session_->unfinished_block();
  if (block == block_) return;
  block_ = block;
  block_due_ms_ = block == 0 ? 0 : stream_.engine().now_ms() + service_.limits.head_ms_max;
}

// Ends streams and connections whose client is too slow. Each stream has its own deadlines. A
// connection without streams has one for silence, and one for a client that only sends PINGs.
void Connection::check_deadlines() {
  const Limits& limits = service_.limits;
  const std::int64_t now_ms = stream_.engine().now_ms();
  if (settings_overdue()) {
    session_->terminate(ErrorCode::settings_timeout);
    return;
  }
  if (block_due_ms_ != 0 && now_ms >= block_due_ms_) {
    session_->terminate(ErrorCode::enhance_your_calm);
    return;
  }
  if (first_ == nullptr) {
    checked_ms_ = now_ms;
    const bool silent = now_ms - active_ms_ >= silence_ms_max();
    const bool quiet = now_ms - quiet_from_ms_ >= limits.quiet_ms_max;
    if (!writing_now_ && (silent || quiet)) session_->terminate(ErrorCode::no_error);
    return;
  }
  const std::int64_t elapsed_ms = now_ms - checked_ms_;
  if (elapsed_ms < check_ms(limits)) return;
  checked_ms_ = now_ms;
  // Delays of this thread must not count against the clients.
  check_transfers(std::min(elapsed_ms, 2 * check_ms(limits)));
  handle_events();
}

void Connection::check_transfers(std::int64_t elapsed_ms) {
  const Waiting waiting{.elapsed_ms = elapsed_ms,
                        // The client can't send while slow handlers keep our window closed.
                        .for_content = session_->may_receive(),
                        // During a write, the connection's own pace counts instead.
                        .for_window = !writing_now_,
                        // The server chooses which stream sends, so progress of any body counts.
                        .for_connection_window = session_->awaits_window() && !has_sent()};
  for (Transfer* transfer = first_; transfer != nullptr; transfer = transfer->next) {
    if (!transfer->closed && !keeps_pace(*transfer, waiting)) transfer->overdue = true;
  }
  for (Transfer* transfer = first_; transfer != nullptr;) {
    if (transfer->closed || !std::exchange(transfer->overdue, false)) {
      transfer = transfer->next;
      continue;
    }
    if (transfer->readable.awaited()) {
      const Limits& limits = service_.limits;
      transfer->timed_out = true;
      transfer->receiving = base::Pace(limits.body_idle_ms_max, limits.bytes_per_s_min);
      transfer->readable.set();
    } else {
      // RFC 9113, 8.1: NO_ERROR if the response is complete.
      const bool answered = transfer->running == 0 && transfer->outgoing.finished();
      session_->reset(*transfer, answered ? ErrorCode::no_error : ErrorCode::cancel);
    }
    transfer = first_;  // restart: a resumed handler may release others
  }
}

// Returns true if any body has made progress since the last check.
bool Connection::has_sent() const noexcept {
  for (const Transfer* transfer = first_; transfer != nullptr; transfer = transfer->next) {
    if (transfer->outgoing.appended() > transfer->sent_bytes) return true;
  }
  return false;
}

// Returns false if the client is too slow on this stream.
bool Connection::keeps_pace(Transfer& transfer, const Waiting& waiting) {
  const std::uint64_t received = std::exchange(transfer.received_bytes, 0);
  const OutgoingBody& outgoing = transfer.outgoing;
  const std::uint64_t sent = outgoing.appended() - transfer.sent_bytes;
  transfer.sent_bytes = outgoing.appended();
  const bool answered = transfer.running == 0 && outgoing.finished();  // its request continues
  const bool receives = waiting.for_content && (answered || transfer.readable.awaited());
  // A streamed body may have nothing to send.
  const bool sends = waiting.for_window && outgoing.next_size(1) > 0 &&
                     (waiting.for_connection_window || session_->awaits_window(transfer));
  // The bytes may have moved at any time since the last check, so they are credited first.
  bool keeps = transfer.receiving.moved(0, received);
  keeps = transfer.sending.moved(0, sent) && keeps;
  if (receives) keeps = transfer.receiving.moved(waiting.elapsed_ms, 0) && keeps;
  if (sends) keeps = transfer.sending.moved(waiting.elapsed_ms, 0) && keeps;
  return keeps;
}

// --- events -----------------------------------------------------------------------------------

void Connection::handle(const SessionEvent& event) {
  Transfer& transfer = *event.transfer;
  switch (event.kind) {
    case SessionEvent::Kind::request:
      begin(transfer);
      return;
    case SessionEvent::Kind::data:
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
  admit(transfer);
  RequestHead& head = transfer.head;
  head.encrypted = encrypted_;
  // Requests that the client sent before it saw the GOAWAY.
  const std::uint64_t requests_max = service_.limits.requests_per_connection;
  const bool beyond = requests_max != 0 && requests_ > requests_max;
  // A reset stream whose handler still runs does not count for the peer's limit, but it does for
  // ours: "rapid reset", CVE-2023-44487.
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
  transfer.head.received_s = stream_.engine().unix_seconds();
  const Handler* const handler = find_handler(service_, transfer);
  if (handler != nullptr) {
    transfer.incoming.bind(*this, transfer);
    Request& request = transfer.request.emplace(head, transfer.params, &transfer.incoming);
    std::optional<Response> response = answer_at_once(*handler, request);
    if (!response) {
      transfer.reads = true;
      ++transfer.running;
      tasks_.start(answer(transfer, *handler));
      return;
    }
    transfer.response = *std::move(response);
  }
  respond(transfer);
  if (transfer.outgoing.is_pulled()) {
    transfer.reads = transfer.outgoing.source() != nullptr;
    ++transfer.running;
    tasks_.start(produce(transfer));
  }
}

void Connection::admit(Transfer& transfer) {
  const Limits& limits = service_.limits;
  if (alive_ == 0) {
    idle_ = false;
    service_.connections.set_busy(*this);
    checked_ms_ = stream_.engine().now_ms();
  }
  ++alive_;
  ++requests_;
  if (service_.streams != nullptr) service_.streams->up();
  transfer.next = first_;
  if (first_ != nullptr) first_->previous = &transfer;
  first_ = &transfer;
  transfer.receiving = base::Pace(limits.body_idle_ms_max, limits.bytes_per_s_min);
  transfer.sending = base::Pace(limits.send_idle_ms_max, limits.bytes_per_s_min);
}

void Connection::keep(Transfer& transfer, std::string_view bytes) {
  transfer.received_bytes += bytes.size();
  if (!transfer.reads || transfer.closed) {
    drop(transfer, bytes.size());
    return;
  }
  transfer.owes_continue = false;
  transfer.arrived.append(bytes);
  transfer.readable.set();
}

// Discards content that is not read. Resets the stream if there is much of it, which RFC 9113, 8.1
// allows once the response has been sent.
void Connection::drop(Transfer& transfer, std::size_t bytes) {
  session_->consume(transfer, bytes);
  want_write();  // a WINDOW_UPDATE may be due
  transfer.dropped += bytes;
  const bool answered = transfer.running == 0 && transfer.outgoing.finished();
  if (transfer.closed || !answered || transfer.dropped <= service_.limits.drain_bytes_max) return;
  session_->reset(transfer, ErrorCode::no_error);
}

void Connection::close(Transfer& transfer) {
  transfer.closed = true;
  ++transfer.running;  // keeps the transfer alive while its waiters run
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
  if (alive_ == 0) active_ms_ = quiet_from_ms_ = stream_.engine().now_ms();
  if (service_.streams != nullptr) service_.streams->down();
  base::Pool<Transfer>::Pointer(&transfer, {&transfers_}).reset();
  hurry();
}

// --- answering --------------------------------------------------------------------------------

Task<void> Connection::answer(Transfer& transfer, const Handler& handler) {
  Response response = co_await call_coroutine(*handler.coroutine(), *transfer.request);
  transfer.response = std::move(response);
  if (!transfer.closed) respond(transfer);
  // The source of the response's body may still read the request's body.
  if (transfer.outgoing.source() == nullptr) stop_reading(transfer);
  co_await produce(transfer);
}

// Offers the session the response's body if it must be pulled, then releases the transfer.
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
  if (transfer.reads) stop_reading(transfer);
  --transfer.running;
  release_if_done(transfer);
}

void Connection::respond(Transfer& transfer) {
  Response& response = transfer.response;
  transfer.owes_continue = false;  // RFC 9110, 10.1.1: 100 comes before the final response
  const bool has_body = transfer.head.method != Method::HEAD &&
                        may_have_content(response.status()) && response.size() != 0;
  thread_local std::vector<Field> fields;  // reused; the session has read it at return
  ResponseHead head = response_head(response, transfer.arena, fields);
  head.date_s = stream_.engine().unix_seconds();
  head.date = service_.date.at(head.date_s);
  if (has_body) {
    transfer.outgoing.open(response,
                           {.copy = !stream_.bytes_go_to_kernel(),
                            .inline_bytes_max = service_.limits.inline_file_bytes_max});
    make_resident_at_once(transfer.outgoing);
  }
  session_->respond(transfer, head, has_body);
  want_write();
}

// Ends reading of the request's body. Discards what is unread.
void Connection::stop_reading(Transfer& transfer) {
  transfer.reads = false;
  const std::size_t unread = transfer.arrived.size();
  transfer.arrived.clear();
  transfer.lent = 0;
  if (unread > 0) drop(transfer, unread);
}

Task<Result<std::string_view>> Connection::read_body(Transfer& transfer) {
  if (transfer.lent > 0) {
    session_->consume(transfer, transfer.lent);
    transfer.arrived.consume(std::exchange(transfer.lent, 0));
    want_write();
  }
  for (;;) {
    if (!transfer.arrived.empty()) {
      const std::string_view piece = transfer.arrived.front();
      transfer.lent = piece.size();
      co_return piece;
    }
    if (transfer.ended) co_return std::string_view();
    if (transfer.closed) co_return std::unexpected(Error{ECONNRESET, "request body"});
    if (transfer.timed_out) co_return std::unexpected(Error{ETIMEDOUT, "request body"});
    if (std::exchange(transfer.owes_continue, false)) {
      session_->inform_continue(transfer);
      want_write();
    }
    co_await transfer.readable.wait();
  }
}

Task<Result<std::string_view>> IncomingBody::read() { return connection_->read_body(*transfer_); }

std::span<const Field> IncomingBody::trailers() const noexcept {
  return {transfer_->trailers.begin(), transfer_->trailers.end()};
}

}  // namespace h2server::http::h2
