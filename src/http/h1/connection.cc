#include "http/h1/connection.h"

#include <array>
#include <cerrno>
#include <optional>
#include <span>
#include <string_view>

#include "http/answer.h"
#include "http/h1/response_encoder.h"
#include "http/message.h"

namespace h2server::http::h1 {

namespace {
// Output that only names a file's bytes takes no memory: as many as one sendfile() may send.
constexpr std::size_t named_bytes_max = 512 * 1024;
}  // namespace

void H1Exchange::end_exchange() noexcept {
  ExchangeState::clear();
  trailers.clear();
  unanswered = false;
  if (parser) parser->reset();
  head_buffer.clear();
  head_due_ms = 0;
  responding = false;
  head_given_back = false;
}

void H1Exchange::clear() noexcept {
  end_exchange();
  lease.end();
  input = {};
  output.clear();
  ahead.end();
}

Connection::Connection(net::Transport& transport, WorkerContext& context,
                       base::Pool<H1Exchange>& exchanges, const ConnectionTraits& traits,
                       std::string early, io::Lease first)
    : transport_(transport), context_(context), traits_(traits), exchange_(nullptr, {&exchanges}) {
  context.connections.add(*this);
  take_exchange();
  exchange_->head_buffer.take(std::move(early));
  exchange_->take(std::move(first));
}

Connection::~Connection() { context_.connections.remove(*this); }

void Connection::drain() {
  if (idle_) transport_.cancel_read();
}

void Connection::cancel() {
  if (exchange_ != nullptr) exchange_->stop.stop(StopReason::server_stops);
}

void Connection::name_unfinished(std::vector<std::string>& names) const {
  if (exchange_ != nullptr && exchange_->request) names.push_back(describe(*exchange_));
}

void Connection::each_exchange(const std::function<void(const ExchangeState&)>& visit) const {
  if (exchange_ != nullptr && exchange_->request) visit(*exchange_);
}

// Reads and writes end in the next turn. A handler that waits for something else is stopped.
void Connection::begin_cut_off() noexcept {
  transport_.break_off();
  if (exchange_ == nullptr) return;
  exchange_->observed.cut_off = CutOff::refused;
  if (exchange_->handling && !exchange_->gone.armed()) stop_soon();
}

// What follows from begin_cut_off() is no other reason.
void Connection::note_cut_off(CutOff why) noexcept {
  if (!is_cut_off()) exchange_->observed.cut_off = why;
}

std::size_t Connection::bytes_held() const noexcept {
  if (exchange_ == nullptr) return 0;
  const std::size_t read = exchange_->decoder.finished() ? 0 : bytes_read(*exchange_);
  return read + sizeof(H1Exchange) + exchange_->arena.bytes_held() +
         exchange_->head_buffer.bytes_held() + exchange_->output.bytes_held() +
         exchange_->writing.bytes_held() + exchange_->lease.room().size() +
         exchange_->ahead.room().size() + exchange_->outgoing.bytes_held();
}

void Connection::take_exchange() {
  exchange_ = exchange_.get_deleter().pool->take();
  const Limits& limits = context_.limits;
  if (!exchange_->parser) exchange_->parser.emplace(limits);
  exchange_->sending = base::Pace(limits.send_idle_ms_max, limits.bytes_per_s_min);
}

// An idle connection keeps this coroutine frame, so the frame holds little.
Task<void> Connection::run() {
  for (;;) {
    co_await serve_arrived();
    if (end_ != End::open || context_.connections.hurries()) break;
    exchange_.reset();
    idle_ = true;
    context_.connections.set_idle(*this);
    Result<io::Lease> lease = co_await transport_.read(context_.limits.idle_ms_max);
    context_.connections.set_busy(*this);
    idle_ = false;
    if (!lease || lease->empty()) break;
    take_exchange();
    exchange_->take(*std::move(lease));
  }
  if (exchange_ != nullptr) observe_end();  // of one that was given up
  exchange_.reset();
  if (end_ == End::abort) co_return;
  // RFC 9112, 9.6: closing with unread input resets the connection, and the peer loses output that
  // it has not read.
  if (end_ == End::linger || transport_.has_unread()) {
    co_await net::linger(transport_, context_.limits.linger_ms_max);
  } else {
    co_await transport_.finish(context_.limits.send_idle_ms_max);
  }
}

// Serves the requests that have arrived, until no input is left or the connection is to end. The
// responses share writes.
Task<void> Connection::serve_arrived() {
  while (end_ == End::open) {
    const Parser::Verdict verdict = parse();
    if (verdict == Parser::Verdict::need_more) {
      if (exchange_->head_buffer.empty()) break;
      const bool more = co_await wait_for_rest_of_head();
      if (!more) break;
    } else if (verdict == Parser::Verdict::malformed) {
      refuse(exchange_->parser->status());
    } else if (!serve_at_once()) {
      co_await serve_on();
    }
    if (end_ != End::abort && exchange_->output.size() >= output_bytes_max()) {
      const bool flushed = co_await flush();
      if (!flushed) end_ = End::abort;
    }
  }
  exchange_->lease.end();
  if (end_ == End::abort) co_return;
  const bool flushed = co_await flush();
  if (!flushed) end_ = End::abort;
}

// --- reading heads ----------------------------------------------------------------------------

Parser::Verdict Connection::parse() {
  if (exchange_->head_buffer.empty()) {
    if (exchange_->input.empty()) return Parser::Verdict::need_more;
    const Parser::Verdict verdict = exchange_->parser->parse(exchange_->input);
    if (verdict == Parser::Verdict::complete) {
      begin_exchange();
      exchange_->parser->fill(
          exchange_->arena.copy(exchange_->input.substr(0, exchange_->parser->head_size())),
          exchange_->head);
      exchange_->input.remove_prefix(exchange_->parser->head_size());
    } else if (verdict == Parser::Verdict::need_more) {
      exchange_->head_buffer.append(exchange_->input);
      exchange_->input = {};
    }
    return verdict;
  }
  // One byte more than the limit lets the parser detect the excess.
  const std::size_t before = exchange_->head_buffer.size();
  exchange_->head_buffer.append(
      exchange_->input.substr(0, context_.limits.head_bytes_max + 1 - before));
  const Parser::Verdict verdict = exchange_->parser->parse(exchange_->head_buffer.view());
  if (verdict == Parser::Verdict::complete) {
    const std::size_t size = exchange_->parser->head_size();
    begin_exchange();
    exchange_->parser->fill(exchange_->arena.copy(exchange_->head_buffer.view().substr(0, size)),
                            exchange_->head);
    exchange_->head_buffer.clear();
    exchange_->input.remove_prefix(size - before);
  } else {
    exchange_->input.remove_prefix(exchange_->head_buffer.size() - before);
  }
  return verdict;
}

// Flushes the responses, then waits for more of a head. Returns false if the connection ends.
Task<bool> Connection::wait_for_rest_of_head() {
  exchange_->lease.end();
  const bool flushed = co_await flush();
  if (!flushed) {
    end_ = End::abort;
    co_return false;
  }
  const std::int64_t now_ms = transport_.engine().now_ms();
  // The deadline covers the whole head; more bytes do not extend it.
  if (exchange_->head_due_ms == 0) exchange_->head_due_ms = now_ms + context_.limits.head_ms_max;
  const std::int64_t wait_ms = exchange_->head_due_ms - now_ms;
  Result<io::Lease> lease = std::unexpected(Error{ETIMEDOUT, "request head"});
  if (wait_ms > 0) lease = co_await transport_.read(static_cast<std::uint32_t>(wait_ms));
  if (lease && !lease->empty()) {
    exchange_->take(*std::move(lease));
    co_return true;
  }
  end_ = End::finish;
  if (!lease && lease.error().code == ETIMEDOUT) refuse(408);
  co_return false;
}

// Appends an error response, unless `status` is 0, and ends the connection.
void Connection::refuse(int status) {
  end_ = End::linger;
  if (status == 0) return;
  const EncodeOptions options{.date = context_.date.at(transport_.engine().unix_seconds()),
                              .close = true};
  exchange_->response = error_response(status);
  const Response& response = exchange_->response;
  encode_head(exchange_->output, response, options);
  exchange_->output.append(std::get<std::string>(response.body()));
  if (traits_.observer == nullptr) return;
  exchange_->observed = {.begun_us = traits_.observer->now_us(), .responded = true};
  observe_end();
}

// --- answering --------------------------------------------------------------------------------

void Connection::begin_exchange() {
  ++requests_;
  exchange_->head.encrypted = traits_.encrypted;
  if (traits_.observer != nullptr) exchange_->observed.begun_us = traits_.observer->now_us();
  exchange_->decoder =
      BodyDecoder(exchange_->parser->framing(), &exchange_->trailers, context_.limits.fields_max);
  exchange_->owes_continue = exchange_->parser->framing().expects_continue;
  exchange_->dropped = 0;
  exchange_->receiving =
      base::Pace(context_.limits.body_idle_ms_max, context_.limits.bytes_per_s_min);
}

// Called when the exchange has ended; a second call does nothing.
void Connection::observe_end() {
  if (traits_.observer == nullptr || exchange_->observed.begun_us == 0) return;
  const bool whole = exchange_->observed.responded && exchange_->outgoing.finished();
  exchange_->observed.cut_off = cut_off_of(*exchange_, whole, CutOff::client_left);
  traits_.observer->ended(*exchange_, 0);
  exchange_->observed.begun_us = 0;
}

// Serves the whole exchange without suspending, the common case. Returns false if serve_on() has to
// complete it.
bool Connection::serve_at_once() {
  exchange_->head.received_s = transport_.engine().unix_seconds();
  if (find_handler(context_, traits_, *exchange_)) {
    exchange_->stop.work_for(traits_.client);
    exchange_->request.emplace(exchange_->head, exchange_->params, &incoming_, &exchange_->stop,
                               &transport_);
    // Earlier responses must not wait for a handler that blocks the thread.
    const Begin begin = exchange_->output.empty() ? Begin::coroutines : Begin::plain_functions;
    std::optional<Response> response = answer_at_once(*exchange_, begin);
    exchange_->unanswered = !response;
    if (!response) return false;
    exchange_->response = *std::move(response);
    if (end_ == End::abort) return false;
  }
  begin_response();
  if (!append_body()) return true;  // aborted
  if (!exchange_->outgoing.finished() || !exchange_->decoder.finished()) {
    if (traits_.observer != nullptr) exchange_->observed.first_byte_us = traits_.observer->now_us();
    exchange_->outgoing.count_memory();
    return false;
  }
  observe_end();
  exchange_->end_exchange();
  return true;
}

Task<void> Connection::serve_on() {
  exchange_->handling = true;
  exchange_->stop.observe(this);
  // A handler may wait for long, and the head has been copied. Of a body, a piece may be lent.
  const bool has_body = exchange_->parser->framing().body != Framing::Body::none;
  if (exchange_->input.empty() && !has_body) exchange_->lease.end();
  if (exchange_->stop.hooked()) watch();  // by middleware, or by a handler that has begun
  if (exchange_->unanswered) {
    // Earlier responses must not wait for this one.
    bool flushed = exchange_->begun.has_value();
    if (!flushed) flushed = co_await flush();
    if (!flushed) {
      end_ = End::abort;
      co_await end_handler(false);  // a middleware may have begun the watch
      co_return;
    }
    Response response = co_await answer(*exchange_);
    exchange_->response = std::move(response);
    if (end_ != End::abort) begin_response();
    exchange_->outgoing.count_memory();
    if (traits_.observer != nullptr) exchange_->observed.first_byte_us = traits_.observer->now_us();
  }
  bool sent = end_ != End::abort;
  if (sent) sent = co_await send_body();
  if (!sent) end_ = End::abort;
  co_await end_handler(sent);
  if (!sent) co_return;
  if (!exchange_->decoder.finished()) {
    const bool dropped = co_await drop_request_body();
    if (!dropped && end_ != End::abort) end_ = End::linger;
  }
  observe_end();
  exchange_->end_exchange();
}

// A response that waits for its client needs no large head.
void Connection::give_back_head() {
  constexpr std::size_t free_bytes = 4096;  // those of browsers with cookies are as large
  if (exchange_->arena.bytes_held() <= free_bytes || exchange_->head_given_back ||
      exchange_->request_in_use()) {
    return;
  }
  std::optional<std::span<const std::string_view>> names{std::in_place};
  if (traits_.observer != nullptr) names = traits_.observer->fields_read();
  if (!names) return;
  exchange_->trailers.forget_fields();
  exchange_->shrink_head(*names);
  exchange_->head_given_back = true;
}

// Waits for a handler that goes on after its response, and stops it if that could not be sent.
Task<void> Connection::end_handler(bool sent) {
  // The client must not wait for a handler that goes on.
  if (sent && exchange_->duplex != nullptr && exchange_->duplex->running()) {
    sent = co_await flush();
  }
  if (!sent) exchange_->stop.stop(StopReason::client_left);
  if (exchange_->duplex != nullptr) co_await exchange_->duplex->join();
  exchange_->handling = false;
  exchange_->stop.observe(nullptr);
  transport_.engine().disarm_timer(exchange_->gone);
  if (exchange_->watching.running() > 0) transport_.cancel_read();
  co_await exchange_->watching.join();
  if (!exchange_->ahead.empty()) exchange_->take(std::move(exchange_->ahead));
}

// Reads ahead while the handler waits for something else, to see whether the client leaves. What
// follows a request that was received whole is the next one, or the end of the connection. (A
// client that closes only its sending side counts as one that has left, as it does for nginx and
// Go.)
void Connection::watch() {
  const bool possible = exchange_->handling && transport_.engine().has_loop() &&
                        exchange_->decoder.finished() && exchange_->input.empty() &&
                        exchange_->ahead.empty() && !exchange_->gone.armed();
  if (!possible || exchange_->watching.running() > 0) return;
  exchange_->starts_watch = true;
  exchange_->watching.start(watch_client());
  exchange_->starts_watch = false;
}

// A client that does not read must not keep a response that is given up.
void Connection::on_stop() noexcept {
  if (exchange_->responding && exchange_->flushing) transport_.cancel_write();
}

// Stops the exchange's token within 64 ms.
void Connection::stop_soon() noexcept {
  exchange_->gone.owner = exchange_.get();
  exchange_->gone.fire = [](base::Timer& timer) {
    static_cast<H1Exchange*>(timer.owner)->stop.stop(StopReason::client_left);
  };
  transport_.engine().arm_timer(exchange_->gone, transport_.engine().now_ms());
}

Task<void> Connection::watch_client() {
  Result<io::Lease> lease = co_await transport_.read(0);
  if (lease && !lease->empty()) {
    exchange_->ahead = *std::move(lease);
  } else if (!lease && lease.error().code == ECANCELED) {
    co_return;
  } else if (exchange_->starts_watch) {
    stop_soon();  // a hook must not be called while it is being linked
  } else {
    exchange_->stop.stop(StopReason::client_left);
  }
}

bool Connection::must_close_after_response() const noexcept {
  if (!exchange_->parser->framing().keep_alive || context_.connections.draining()) return true;
  if (end_ != End::open) return true;  // the request's body is broken or too long
  if (requests_ == context_.limits.requests_per_connection) return true;
  // Without a 100 (Continue) the client may or may not send the body (RFC 9110, 10.1.1).
  if (exchange_->owes_continue) return true;
  const bool sized = exchange_->parser->framing().body == Framing::Body::length;
  return sized && !source_may_read() && exchange_->decoder.left() > context_.limits.drain_bytes_max;
}

void Connection::begin_response() {
  Response& response = exchange_->response;
  const bool has_body =
      exchange_->head.method != Method::HEAD && may_have_content(response.status());
  if (has_body) {
    exchange_->outgoing.open(response,
                             {.copy = !transport_.bytes_go_to_kernel(),
                              .inline_bytes_max = context_.limits.inline_file_bytes_max,
                              .by_descriptor = transport_.engine().sends_files(),
                              .send_file_bytes_min = context_.limits.send_file_bytes_min});
  }
  if (!has_body && exchange_->duplex != nullptr) exchange_->duplex->discard();
  exchange_->responding = true;
  exchange_->observed.responded = true;
  if (!source_may_read()) drop_arrived_body();
  const Version version = exchange_->head.version;
  // In HTTP/1.0 the end of the connection ends a body of unknown size.
  const bool ends_with_connection = !response.size() && version == Version::http_1_0;
  const EncodeOptions options{
      .date = context_.date.at(transport_.engine().unix_seconds()),
      .version = version,
      .close = must_close_after_response() || ends_with_connection,
      .following = exchange_->outgoing.whole(base::BufferChain::block_bytes).size()};
  encode_head(exchange_->output, response, options);
  // If input is unread, the peer may still be sending more.
  const bool all_read = exchange_->decoder.finished() && exchange_->input.empty();
  if (options.close) end_ = all_read ? End::finish : End::linger;
}

std::size_t Connection::output_bytes_max() const noexcept {
  const Limits& limits = context_.limits;
  return transport_.whole_sends(transport_.bytes_go_to_kernel() ? limits.output_bytes_max
                                                                : limits.copied_bytes_max);
}

// Appends as much of the body as is ready and fits. Returns false if the response can't be
// completed.
bool Connection::append_body() {
  OutgoingBody& outgoing = exchange_->outgoing;
  const bool chunked = outgoing.source() != nullptr && !exchange_->response.size() &&
                       exchange_->head.version == Version::http_1_1;
  const std::size_t bytes_max = outgoing.names_descriptor() ? named_bytes_max : output_bytes_max();
  while (exchange_->output.size() < bytes_max) {
    const std::size_t size = outgoing.next_size(bytes_max - exchange_->output.size());
    if (size == 0 && outgoing.make_resident_at_once()) continue;
    if (size == 0 || outgoing.must_wait(exchange_->output, size)) break;
    std::array<char, 24> room;
    const std::string_view prefix = chunked ? encode_chunk_size(size, room) : std::string_view();
    if (const Result<void> appended = outgoing.append(exchange_->output, prefix, size); !appended) {
      report_cut_off(*exchange_, appended.error());
      note_cut_off(CutOff::failed);
      end_ = End::abort;
      return false;
    }
    if (chunked) exchange_->output.append("\r\n");
  }
  if (chunked && outgoing.finished()) {
    encode_last_chunk(exchange_->output, outgoing.source()->trailers(), exchange_->arena);
  }
  return true;
}

// Appends the rest of the body, flushing as needed. Returns false if it can't be completed or the
// peer is gone.
Task<bool> Connection::send_body() {
  OutgoingBody& outgoing = exchange_->outgoing;
  while (!outgoing.finished()) {
    if (outgoing.next_size(1) == 0) {
      give_back_head();
      // What is ready must not wait for more.
      bool ready = co_await flush();
      if (!ready) co_return false;
      if (outgoing.not_resident() != nullptr) {
        ready = co_await make_resident(transport_.engine(), *exchange_);
      } else {
        NextPiece next(*exchange_);
        const Result<std::string_view> piece = co_await next;
        ready = offer(*exchange_, piece);
      }
      if (!ready) {
        note_cut_off(CutOff::failed);
        co_return false;
      }
    }
    if (!append_body()) co_return false;
    if (outgoing.finished()) break;
    give_back_head();
    const bool flushed = co_await flush();
    if (!flushed) co_return false;
    if (const std::optional<std::size_t> left = outgoing.to_settle()) {
      const bool settled =
          co_await transport_.acknowledged(*left, context_.limits.send_idle_ms_max);
      if (!settled) co_return false;
      outgoing.settled();
    }
  }
  co_return true;
}

Task<bool> Connection::flush() {
  // A handler may read, which sends 100 (Continue), while its response is sent.
  while (exchange_->flushing) co_await exchange_->written.wait();
  if (end_ == End::abort) co_return false;
  if (exchange_->output.empty()) co_return true;
  exchange_->writing.swap(exchange_->output);
  exchange_->flushing = true;
  const Result<void> written = co_await transport_.write(exchange_->writing, exchange_->sending);
  exchange_->flushing = false;
  exchange_->writing.clear();
  if (!written) {
    end_ = End::abort;
    note_cut_off(written.error().code == ETIMEDOUT ? CutOff::too_slow : CutOff::client_left);
    note_failed_write(*exchange_, written.error());
  }
  if (exchange_->written.awaited()) exchange_->written.set();
  co_return written.has_value();
}

}  // namespace h2server::http::h1
