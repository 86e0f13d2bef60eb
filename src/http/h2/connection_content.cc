// The contents of requests, as handlers read them, and what handlers say meanwhile.
#include <cerrno>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "http/fields/syntax.h"
#include "http/h2/connection.h"

namespace h2server::http::h2 {

void Connection::inform(H2Exchange& exchange, int status, std::span<const Field> fields) {
  if (exchange.handling.closed || exchange.handling.responded()) return;
  const std::string digits = std::to_string(status);
  std::vector<Field> lines{{":status", digits}};
  for (const Field& field : fields) {
    lines.push_back({lower_case(field.name, exchange.arena), field.value});
  }
  session_->inform(exchange, lines);
  want_write();
}

void Connection::keep(H2Exchange& exchange, std::string_view bytes) {
  exchange.pace.received_bytes += bytes.size();
  exchange.observed.received += bytes.size();
  if (!exchange.handling.reads || exchange.handling.closed) {
    drop(exchange, bytes.size());
    return;
  }
  if (!exchange.handling.responded()) exchange.handling.progress = Progress::receiving;
  if (can_lend(exchange, bytes)) {
    exchange.handling.direct = bytes;
    borrower_ = &exchange;
  } else {
    exchange.handling.arrived.append(bytes);
  }
  exchange.handling.readable.set();
}

// A handler that waits for content gets it without a copy. It nearly always takes it at once; if
// not, the connection keeps the buffer, so one handler at a time may borrow, and not a few bytes.
bool Connection::can_lend(const H2Exchange& exchange, std::string_view bytes) const noexcept {
  constexpr std::size_t lent_bytes_min = 4096;
  const bool received_here = std::less_equal<>()(lending_.data(), bytes.data()) &&
                             std::less<>()(bytes.data(), lending_.data() + lending_.size());
  return received_here && borrower_ == nullptr && bytes.size() >= lent_bytes_min &&
         exchange.handling.readable.awaited() && exchange.handling.arrived.empty();
}

// The handler has read what it borrowed, or never will. Returns how much that was.
std::size_t Connection::take_back(H2Exchange& exchange) noexcept {
  if (borrower_ == &exchange) {
    borrower_ = nullptr;
    kept_.end();
  }
  return std::exchange(exchange.handling.direct, {}).size();
}

Task<Result<std::string_view>> Connection::read_body(H2Exchange& exchange) {
  if (!exchange.handling.direct.empty()) {
    consume(exchange, take_back(exchange), Consumed::read);
    want_write();
  }
  if (exchange.handling.lent > 0) {
    consume(exchange, exchange.handling.lent, Consumed::read);
    exchange.handling.arrived.consume(std::exchange(exchange.handling.lent, 0));
    want_write();
  }
  for (;;) {
    if (!exchange.handling.direct.empty()) co_return exchange.handling.direct;
    if (!exchange.handling.arrived.empty()) {
      const std::string_view piece = exchange.handling.arrived.front();
      exchange.handling.lent = piece.size();
      co_return piece;
    }
    if (exchange.session.ended) co_return std::string_view();
    if (exchange.handling.closed) co_return std::unexpected(Error{ECONNRESET, "request body"});
    if (exchange.pace.timed_out) co_return std::unexpected(Error{ETIMEDOUT, "request body"});
    if (std::exchange(exchange.handling.interrupted, false)) {
      co_return std::unexpected(Error{ECANCELED, "request body"});
    }
    if (exchange.session.expects_continue && exchange.handling.progress == Progress::begun) {
      exchange.handling.progress = Progress::receiving;
      inform(exchange, 100, {});
    }
    co_await exchange.handling.readable.wait();
  }
}

void IncomingBody::on_stop() noexcept { connection_->give_up_response(*exchange_); }

void IncomingBody::interrupt() noexcept {
  exchange_->handling.interrupted = true;
  exchange_->handling.readable.set();
}

Task<Result<std::string_view>> IncomingBody::read() { return connection_->read_body(*exchange_); }

void IncomingBody::inform(int status, std::span<const Field> fields) {
  connection_->inform(*exchange_, status, fields);
}

std::span<const Field> IncomingBody::trailers() const noexcept {
  return {exchange_->session.trailers.begin(), exchange_->session.trailers.end()};
}

}  // namespace h2server::http::h2
