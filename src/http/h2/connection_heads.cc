// The memory of a connection: of its requests' heads, and in all.
#include <algorithm>

#include "http/h2/connection.h"

namespace h2server::http::h2 {

namespace {

// Of each head, so much is free: those of browsers with cookies are as large, and a client may have
// streams_max of them at a time.
constexpr std::size_t free_bytes = 4096;
// Spent heads may hold so much before they are given back.
constexpr std::size_t spent_bytes_max = 32 * 1024;
constexpr std::size_t shrunk_bytes = 512;  // a smaller head is not worth it

std::size_t bytes_of_head(const H2Exchange& exchange) noexcept {
  const std::size_t lines = exchange.head.fields.size() + exchange.session.trailers.size();
  return exchange.arena.bytes_held() + lines * sizeof(Field);
}

std::size_t excess_of(std::size_t bytes) noexcept { return bytes - std::min(bytes, free_bytes); }

// Returns true if the head was sent and neither a handler nor the body's source uses the request.
bool is_spent(const H2Exchange& exchange) noexcept {
  return exchange.handling.responded() && exchange.session.heads_queued == 0 &&
         !exchange.request_in_use();
}

}  // namespace

// The connection's read ends in the next turn, or its write fails; then all exchanges are closed.
void Connection::begin_cut_off() noexcept {
  transport_.break_off();
  for (H2Exchange* exchange = first_; exchange != nullptr; exchange = exchange->handling.next) {
    exchange->observed.cut_off = CutOff::refused;
  }
}

std::size_t Connection::bytes_held() const noexcept {
  std::size_t bytes = writing_.bytes_held() + session_->output().bytes_held() +
                      session_->bytes_gathered() + kept_.room().size();
  if (paused_) bytes += lending_.size();
  for (const H2Exchange* exchange = first_; exchange != nullptr;
       exchange = exchange->handling.next) {
    bytes += sizeof(H2Exchange) + exchange->arena.bytes_held() +
             exchange->handling.arrived.bytes_held() + exchange->outgoing.bytes_held();
    if (exchange->handling.reads && !exchange->session.ended) bytes += bytes_read(*exchange);
  }
  return bytes;
}

void Connection::count_head(H2Exchange& exchange) noexcept {
  const std::size_t bytes = bytes_of_head(exchange);
  std::size_t& counted = exchange.handling.head_bytes;
  heads_bytes_ += bytes - counted;
  heads_excess_ += excess_of(bytes) - excess_of(counted);
  counted = bytes;
}

void Connection::forget_head(const H2Exchange& exchange) noexcept {
  heads_bytes_ -= exchange.handling.head_bytes;
  heads_excess_ -= excess_of(exchange.handling.head_bytes);
  heads_due_ = std::min(heads_due_, heads_bytes_ + spent_bytes_max);
}

bool Connection::head_exceeds_limit(const H2Exchange& exchange) {
  const std::size_t most = context_.limits.heads_bytes_max;
  if (heads_excess_ <= most || excess_of(exchange.handling.head_bytes) == 0) return false;
  give_back_heads();
  return heads_excess_ > most;
}

// Shrinks the heads of exchanges whose responses are only sent.
void Connection::give_back_heads() {
  for (H2Exchange* exchange = first_; exchange != nullptr; exchange = exchange->handling.next) {
    if (is_spent(*exchange)) shrink_head(*exchange);
  }
  heads_due_ = heads_bytes_ + spent_bytes_max;
}

void Connection::shrink_head(H2Exchange& exchange) {
  std::optional<std::span<const std::string_view>> names{std::in_place};
  if (traits_.observer != nullptr) names = traits_.observer->fields_read();
  // It may have been shrunk to more than that, to a long target.
  const bool is_shrunk = exchange.handling.shrunk && exchange.session.trailers.size() == 0;
  if (!names || is_shrunk || bytes_of_head(exchange) <= shrunk_bytes) return;
  exchange.handling.shrunk = true;
  exchange.session.trailers = Fields();
  exchange.shrink_head(*names);
  count_head(exchange);
}

// RFC 9113, 8.7: the client may send the request again.
void Connection::refuse(H2Exchange& exchange) {
  exchange.observed.cut_off = CutOff::refused;
  shrink_head(exchange);  // libnghttp2 keeps the stream until the client reads
  session_->reset(exchange, ErrorCode::refused_stream);
}

}  // namespace h2server::http::h2
