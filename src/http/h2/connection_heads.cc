// The memory of requests' heads.
#include <algorithm>

#include "http/h2/connection.h"

namespace h2server::http::h2 {

namespace {

std::size_t bytes_of_head(const H2Exchange& exchange) noexcept {
  const std::size_t lines = exchange.head.fields.size() + exchange.session.trailers.size();
  return exchange.arena.bytes_held() + lines * sizeof(Field);
}

// Returns true if the head was sent and neither a handler nor the body's source uses the request.
bool is_spent(const H2Exchange& exchange) noexcept {
  return exchange.handling.responded && exchange.session.heads_queued == 0 &&
         exchange.outgoing.source() == nullptr && exchange.duplex == nullptr;
}

}  // namespace

void Connection::count_head(H2Exchange& exchange) noexcept {
  const std::size_t bytes = bytes_of_head(exchange);
  heads_bytes_ += bytes - exchange.handling.head_bytes;
  exchange.handling.head_bytes = bytes;
}

bool Connection::heads_exceed_limit() {
  if (heads_bytes_ <= context_.limits.heads_bytes_max) return false;
  give_back_heads();
  return heads_bytes_ > context_.limits.heads_bytes_max;
}

// Shrinks the heads of exchanges whose responses are only sent. Does so again when as much as is
// left has been added, so a head is looked at a few times.
void Connection::give_back_heads() {
  std::optional<std::span<const std::string_view>> names{std::in_place};
  if (traits_.observer != nullptr) names = traits_.observer->fields_read();
  for (H2Exchange* exchange = first_; names && exchange != nullptr;
       exchange = exchange->handling.next) {
    constexpr std::size_t kept_bytes = 512;  // a smaller head is not worth it
    if (!is_spent(*exchange) || bytes_of_head(*exchange) <= kept_bytes) continue;
    exchange->session.trailers = Fields();
    exchange->shrink_head(*names);
    count_head(*exchange);
  }
  heads_due_ = std::max(spent_heads_bytes, 2 * heads_bytes_);
}

}  // namespace h2server::http::h2
