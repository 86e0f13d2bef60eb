#include "http/h1/connection.h"

#include <array>
#include <cerrno>

#include "http/connection_body.h"
#include "http/h1/response_encoder.h"
#include "http/message.h"

namespace h2server::http::h1 {

Connection::Connection(net::Stream& stream, Service& service, bool encrypted)
    : stream_(stream),
      service_(service),
      encrypted_(encrypted),
      parser_(service.limits),
      exchange_(nullptr, {&service.exchanges}) {
  service.connections.add(*this);
}

Connection::~Connection() { DrainList::remove(*this); }

void Connection::drain() {
  if (idle_) stream_.cancel_read();
}

void Connection::take(io::Lease lease) noexcept {
  lease_ = std::move(lease);
  input_ = lease_.bytes();
}

Task<void> Connection::run(std::string early, io::Lease first) {
  head_buffer_ = std::move(early);
  take(std::move(first));
  while (end_ == End::open) {
    const Parser::Verdict verdict = parse();
    if (verdict == Parser::Verdict::need_more) {
      const bool more = co_await wait_for_head();
      if (!more) break;
    } else if (verdict == Parser::Verdict::malformed) {
      refuse(parser_.status());
    } else if (!serve_at_once()) {
      co_await serve_on();
    }
    if (output_.size() >= output_bytes_max()) {
      const bool flushed = co_await flush();
      if (!flushed) co_return;
    }
  }
  lease_.end();
  if (end_ == End::abort) co_return;
  const bool flushed = co_await flush();
  if (!flushed) co_return;
  if (end_ == End::linger) {
    co_await net::linger(stream_, service_.limits.linger_ms_max);
  } else {
    co_await stream_.finish(service_.limits.send_idle_ms_max);
  }
}

// --- reading heads ----------------------------------------------------------------------------

Parser::Verdict Connection::parse() {
  if (head_buffer_.empty()) {
    if (input_.empty()) return Parser::Verdict::need_more;
    const Parser::Verdict verdict = parser_.parse(input_);
    if (verdict == Parser::Verdict::complete) {
      begin_exchange();
      parser_.fill(exchange_->arena.copy(input_.substr(0, parser_.head_size())), exchange_->head);
      input_.remove_prefix(parser_.head_size());
    } else if (verdict == Parser::Verdict::need_more) {
      head_buffer_ = input_;
      input_ = {};
    }
    return verdict;
  }
  // One byte more than the limit makes the parser see that it is exceeded.
  const std::size_t before = head_buffer_.size();
  head_buffer_.append(input_.substr(0, service_.limits.head_bytes_max + 1 - before));
  const Parser::Verdict verdict = parser_.parse(head_buffer_);
  if (verdict == Parser::Verdict::complete) {
    const std::size_t size = parser_.head_size();
    begin_exchange();
    parser_.fill(exchange_->arena.copy({head_buffer_.data(), size}), exchange_->head);
    input_.remove_prefix(size - before);
  } else {
    input_.remove_prefix(head_buffer_.size() - before);
  }
  return verdict;
}

// Waits for more of a head, after all that was answered has left. False: the connection ends.
Task<bool> Connection::wait_for_head() {
  lease_.end();
  const bool flushed = co_await flush();
  if (!flushed) {
    end_ = End::abort;
    co_return false;
  }
  const std::int64_t now_ms = stream_.engine().now_ms();
  const bool started = !head_buffer_.empty();
  if (!started && service_.connections.draining()) co_return false;
  if (started && head_due_ms_ == 0) head_due_ms_ = now_ms + service_.limits.head_ms_max;
  // The deadline is the whole head's, so a byte now and then does not prolong it.
  const std::int64_t wait_ms = started ? head_due_ms_ - now_ms : service_.limits.idle_ms_max;
  Result<io::Lease> lease = std::unexpected(Error{ETIMEDOUT, "request head"});
  if (wait_ms > 0) {
    idle_ = !started;
    lease = co_await stream_.read(static_cast<std::uint32_t>(wait_ms));
    idle_ = false;
  }
  if (lease && !lease->empty()) {
    take(*std::move(lease));
    co_return true;
  }
  if (!lease && lease.error().code == ETIMEDOUT && started) refuse(408);
  co_return false;
}

// Answers what is no request.
void Connection::refuse(int status) {
  end_ = End::linger;
  if (status == 0) return;
  const EncodeOptions options{.date = service_.date.at(stream_.engine().unix_seconds()),
                              .close = true};
  const Response response = error_response(status);
  encode_head(output_, response, options);
  output_.append(std::get<std::string>(response.body()));
}

// --- answering --------------------------------------------------------------------------------

void Connection::begin_exchange() {
  exchange_ = service_.exchanges.take();
  exchange_->head.encrypted = encrypted_;
  decoder_ = BodyDecoder(parser_.framing());
  owes_continue_ = parser_.framing().expects_continue;
  dropped_ = 0;
}

void Connection::end_exchange() noexcept {
  exchange_.reset();
  handler_ = nullptr;
  parser_.reset();
  head_buffer_.clear();
  head_due_ms_ = 0;
}

// The whole exchange without waiting for anything, which is the ordinary case; false: serve_on()
// has the rest.
bool Connection::serve_at_once() {
  handler_ = find_handler(service_, *exchange_);
  if (handler_ != nullptr) {
    Request request(exchange_->head, exchange_->params, &incoming_);
    std::optional<Response> response = answer_at_once(*handler_, request);
    if (!response) return false;
    exchange_->response = *std::move(response);
    handler_ = nullptr;
  }
  begin_response();
  if (!append_body()) return end_ == End::abort;
  if (!exchange_->outgoing.finished() || !decoder_.finished()) return false;
  end_exchange();
  return true;
}

Task<void> Connection::serve_on() {
  if (handler_ != nullptr) {
    // Those before it must not wait for this one.
    const bool flushed = co_await flush();
    if (!flushed) {
      end_ = End::abort;
      co_return;
    }
    Request request(exchange_->head, exchange_->params, &incoming_);
    Response response = co_await call_coroutine(*handler_->coroutine(), request);
    if (end_ == End::abort) co_return;
    exchange_->response = std::move(response);
    begin_response();
  }
  const bool sent = co_await send_body();
  if (!sent) {
    end_ = End::abort;
    co_return;
  }
  if (!decoder_.finished()) {
    const bool dropped = co_await drop_request_body();
    if (!dropped && end_ != End::abort) end_ = End::linger;
  }
  end_exchange();
}

bool Connection::must_close_after_response() const noexcept {
  if (!parser_.framing().keep_alive || service_.connections.draining()) return true;
  if (end_ != End::open) return true;  // the request's body broke off
  // Whether a body that was not asked for comes is the client's choice (RFC 9110, 10.1.1).
  if (owes_continue_) return true;
  const bool sized = parser_.framing().body == Framing::Body::length;
  return sized && decoder_.left() > service_.limits.drain_bytes_max;
}

void Connection::begin_response() {
  drop_arrived_body();
  Response& response = exchange_->response;
  const bool head_only = exchange_->head.method == Method::HEAD;
  const Version version = exchange_->head.version;
  // An HTTP/1.0 client learns the end of a body of unknown size from the connection's.
  const bool ends_with_connection = !response.size() && version == Version::http_1_0;
  const EncodeOptions options{.date = service_.date.at(stream_.engine().unix_seconds()),
                              .version = version,
                              .close = must_close_after_response() || ends_with_connection};
  encode_head(output_, response, options);
  if (!head_only && may_have_content(response.status())) {
    exchange_->outgoing.open(response, !stream_.bytes_go_to_kernel(),
                             service_.limits.inline_file_bytes_max);
  }
  if (options.close) end_ = decoder_.finished() ? End::finish : End::linger;
}

std::size_t Connection::output_bytes_max() const noexcept {
  return stream_.bytes_go_to_kernel() ? service_.limits.output_bytes_max
                                      : service_.limits.copied_bytes_max;
}

// Appends what there is of the body and fits. False: the response can't be completed.
bool Connection::append_body() {
  OutgoingBody& outgoing = exchange_->outgoing;
  const bool chunked = outgoing.source() != nullptr && !exchange_->response.size() &&
                       exchange_->head.version == Version::http_1_1;
  while (output_.size() < output_bytes_max()) {
    const std::size_t size = outgoing.next_size(output_bytes_max());
    if (size == 0 && warm_at_once(outgoing)) continue;
    if (size == 0 || outgoing.must_wait(output_, size)) break;
    std::array<char, 24> room;
    const std::string_view prefix = chunked ? encode_chunk_size(size, room) : std::string_view();
    if (!outgoing.append(output_, prefix, size)) {
      end_ = End::abort;
      return false;
    }
    if (chunked) output_.append("\r\n");
  }
  if (chunked && outgoing.finished()) output_.append(last_chunk);
  return true;
}

// The rest of the body, flushed as it goes. False: it can't be completed, or the peer is gone.
Task<bool> Connection::send_body() {
  OutgoingBody& outgoing = exchange_->outgoing;
  while (!outgoing.finished()) {
    if (outgoing.next_size(1) == 0) {
      const bool pulled = co_await pull_more();
      if (!pulled) co_return false;
    }
    if (!append_body()) co_return false;
    if (outgoing.finished()) break;
    const bool flushed = co_await flush();
    if (!flushed) co_return false;
  }
  co_return true;
}

// Once what there was before has left.
Task<bool> Connection::pull_more() {
  const bool flushed = co_await flush();
  if (!flushed) co_return false;
  const bool pulled = co_await pull(stream_.engine(), exchange_->outgoing);
  co_return pulled;
}

Task<bool> Connection::flush() {
  if (output_.empty()) co_return true;
  const Result<void> written = co_await stream_.write(output_, service_.limits.send_idle_ms_max);
  co_return written.has_value();
}

// --- the request's body -----------------------------------------------------------------------

Task<Result<std::string_view>> Connection::IncomingBody::read() {
  Connection& self = connection_;
  for (;;) {
    switch (self.decoder_.decode(self.input_)) {
      case BodyDecoder::Verdict::content:
        self.owes_continue_ = false;
        co_return self.decoder_.content();
      case BodyDecoder::Verdict::finished:
        co_return std::string_view();
      case BodyDecoder::Verdict::malformed:
        self.end_ = End::linger;
        co_return std::unexpected(Error{EPROTO, "request body"});
      case BodyDecoder::Verdict::need_more:
        break;
    }
    if (std::exchange(self.owes_continue_, false)) self.output_.append(continue_head);
    self.lease_.end();
    const bool flushed = co_await self.flush();
    if (!flushed) {
      self.end_ = End::abort;
      co_return std::unexpected(Error{ECONNRESET, "request body"});
    }
    Result<io::Lease> lease = co_await self.stream_.read(self.service_.limits.body_idle_ms_max);
    if (!lease || lease->empty()) {
      self.end_ = End::linger;  // the response says so, and nobody waits for the rest again
      co_return std::unexpected(lease ? Error{ECONNRESET, "request body"} : lease.error());
    }
    self.take(*std::move(lease));
  }
}

// What of it has arrived already, so that the response can say whether the connection goes on.
void Connection::drop_arrived_body() {
  BodyDecoder::Verdict verdict;
  while ((verdict = decoder_.decode(input_)) == BodyDecoder::Verdict::content) {
    dropped_ += decoder_.content().size();
  }
  const bool too_much = dropped_ > service_.limits.drain_bytes_max;
  if (verdict == BodyDecoder::Verdict::malformed || too_much) end_ = End::linger;
}

// What the handler left unread. False: too much of it, or it broke off.
Task<bool> Connection::drop_request_body() {
  if (end_ == End::linger) co_return false;
  while (!decoder_.finished()) {
    const Result<std::string_view> piece = co_await incoming_.read();
    if (!piece) co_return false;
    dropped_ += piece->size();
    if (dropped_ > service_.limits.drain_bytes_max) co_return false;
  }
  co_return true;
}

}  // namespace h2server::http::h1
