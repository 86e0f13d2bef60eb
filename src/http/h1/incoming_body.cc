// A connection's request body: as the handler reads it, and what is done with the rest.
#include <cerrno>
#include <span>
#include <string_view>
#include <utility>

#include "http/h1/connection.h"
#include "http/h1/response_encoder.h"
#include "http/message.h"

namespace h2server::http::h1 {

Task<Result<std::string_view>> Connection::IncomingBody::read() {
  Connection& self = connection_;
  interrupted_ = false;
  for (;;) {
    switch (self.exchange_->decoder.decode(self.exchange_->input)) {
      case BodyDecoder::Verdict::content:
        self.exchange_->owes_continue = false;
        self.exchange_->observed.received += self.exchange_->decoder.content().size();
        co_return self.exchange_->decoder.content();
      case BodyDecoder::Verdict::finished:
        // Another task of the handler may be waiting for something else.
        if (self.exchange_->stop.hooked_twice()) self.watch();
        co_return std::string_view();
      case BodyDecoder::Verdict::malformed:
        self.end_ = End::linger;
        co_return std::unexpected(Error{EPROTO, "request body"});
      case BodyDecoder::Verdict::need_more:
        break;
    }
    // RFC 9110, 10.1.1: no 100 (Continue) once the final response has begun.
    const bool asks =
        std::exchange(self.exchange_->owes_continue, false) && !self.exchange_->responding;
    if (asks) encode_interim(self.exchange_->output, 100, {});
    self.exchange_->lease.end();
    const bool flushed = co_await self.flush();
    if (!flushed) {
      self.end_ = End::abort;
      self.exchange_->stop.stop(StopReason::client_left);
      co_return std::unexpected(Error{ECONNRESET, "request body"});
    }
    // A read that blocks the thread must not delay the response.
    const bool blocks = !self.transport_.engine().has_loop();
    if (blocks && self.exchange_->duplex != nullptr) {
      co_await self.exchange_->duplex->hand_over();
    }
    if (interrupted_) {
      self.end_ = End::linger;
      co_return std::unexpected(Error{ECANCELED, "request body"});
    }
    base::Pace& pace = self.exchange_->receiving;
    const std::int64_t from_ms = self.transport_.engine().now_ms();
    Result<io::Lease> lease = co_await self.transport_.read(pace.left_ms());
    if (!lease || lease->empty()) {
      self.end_ = End::linger;  // so that the rest is not waited for again
      const bool left = lease || lease.error().code == ECONNRESET;
      self.note_cut_off(left ? CutOff::client_left : CutOff::too_slow);
      if (left) self.exchange_->stop.stop(StopReason::client_left);
      co_return std::unexpected(lease ? Error{ECONNRESET, "request body"} : lease.error());
    }
    const std::int64_t elapsed_ms = self.transport_.engine().now_ms() - from_ms;
    if (!pace.moved(elapsed_ms, lease->bytes().size())) {
      self.end_ = End::linger;
      self.note_cut_off(CutOff::too_slow);
      co_return std::unexpected(Error{ETIMEDOUT, "request body"});
    }
    self.exchange_->take(*std::move(lease));
  }
}

// RFC 9110, 15.2: HTTP/1.0 has no interim responses.
void Connection::IncomingBody::inform(int status, std::span<const Field> fields) {
  H1Exchange& work = *connection_.exchange_;
  if (work.responding || work.head.version == Version::http_1_0) return;
  encode_interim(work.output, status, fields);
}

std::span<const Field> Connection::IncomingBody::trailers() const noexcept {
  const H1Exchange& work = *connection_.exchange_;
  if (!work.decoder.finished()) return {};
  return {work.trailers.fields().begin(), work.trailers.fields().end()};
}

// Discards what has arrived of the request's body, so that the response can say if the connection
// stays open.
void Connection::drop_arrived_body() {
  BodyDecoder::Verdict verdict;
  while ((verdict = exchange_->decoder.decode(exchange_->input)) == BodyDecoder::Verdict::content) {
    exchange_->dropped += exchange_->decoder.content().size();
    exchange_->observed.received += exchange_->decoder.content().size();
  }
  const bool too_much = exchange_->dropped > context_.limits.drain_bytes_max;
  if (verdict == BodyDecoder::Verdict::malformed || too_much) end_ = End::linger;
}

// Discards what the handler left unread. Returns false if that is too much or incomplete.
Task<bool> Connection::drop_request_body() {
  if (end_ == End::linger) co_return false;
  while (!exchange_->decoder.finished()) {
    const Result<std::string_view> piece = co_await incoming_.read();
    if (!piece) co_return false;
    exchange_->dropped += piece->size();
    if (exchange_->dropped > context_.limits.drain_bytes_max) co_return false;
  }
  co_return true;
}

}  // namespace h2server::http::h1
