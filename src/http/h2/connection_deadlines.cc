// The deadlines of a connection and of its streams.
#include <algorithm>
#include <utility>

#include "http/h2/connection.h"

namespace h2server::http::h2 {

namespace {

// Interval between pace checks, short compared with the slack of the paces.
std::int64_t check_ms(const Limits& limits) noexcept {
  constexpr std::int64_t check_ms_max = 5000;
  const auto slack_ms = std::min(limits.body_idle_ms_max, limits.send_idle_ms_max);
  return std::clamp<std::int64_t>(slack_ms / 8, 1, check_ms_max);
}

}  // namespace

std::uint32_t Connection::silence_ms_max() const noexcept {
  if (!session_->acknowledged()) return context_.limits.settings_ack_ms_max;
  const bool hurries = context_.connections.draining() && first_ == nullptr;
  return hurries ? context_.limits.goaway_ms_max : context_.limits.idle_ms_max;
}

// Returns the time until the next deadline or pace check, at least 1.
std::uint32_t Connection::wait_ms() const noexcept {
  const std::int64_t now_ms = transport_.engine().now_ms();
  std::int64_t wait_ms = silence_ms_max();
  if (block_due_ms_ != 0) wait_ms = std::min(wait_ms, block_due_ms_ - now_ms);
  if (first_ != nullptr) {
    wait_ms = std::min(wait_ms, checked_ms_ + check_ms(context_.limits) - now_ms);
  }
  return static_cast<std::uint32_t>(std::max<std::int64_t>(wait_ms, 1));
}

// RFC 9113, 6.5.3.
bool Connection::settings_overdue() const noexcept {
  const std::int64_t age_ms = transport_.engine().now_ms() - opened_ms_;
  return age_ms >= context_.limits.settings_ack_ms_max && !session_->acknowledged();
}

// A field block has a deadline from its first byte to its last, like a head in HTTP/1.1.
void Connection::watch_block() {
  const std::uint32_t block = session_->unfinished_block();
  if (block == block_) return;
  block_ = block;
  block_due_ms_ = block == 0 ? 0 : transport_.engine().now_ms() + context_.limits.head_ms_max;
}

// Ends streams and connections whose client is too slow. Each stream has its own deadlines. A
// connection without streams has one for silence, and one for a client that only sends PINGs.
void Connection::check_deadlines() {
  const Limits& limits = context_.limits;
  const std::int64_t now_ms = transport_.engine().now_ms();
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
  check_exchanges(std::min(elapsed_ms, 2 * check_ms(limits)));
  handle_events();
}

void Connection::check_exchanges(std::int64_t elapsed_ms) {
  const Waiting waiting{.elapsed_ms = elapsed_ms,
                        // The client can't send while slow handlers keep our window closed.
                        .for_content = session_->may_receive(),
                        // During a write, the connection's own pace counts instead.
                        .for_window = !writing_now_,
                        // The server chooses which stream sends, so progress of any body counts.
                        .for_connection_window = session_->awaits_window() && !has_sent()};
  for (H2Exchange* exchange = first_; exchange != nullptr; exchange = exchange->handling.next) {
    if (!exchange->handling.closed && !keeps_pace(*exchange, waiting))
      exchange->pace.overdue = true;
  }
  for (H2Exchange* exchange = first_; exchange != nullptr;) {
    if (exchange->handling.closed || !std::exchange(exchange->pace.overdue, false)) {
      exchange = exchange->handling.next;
      continue;
    }
    if (exchange->handling.readable.awaited()) {
      const Limits& limits = context_.limits;
      exchange->pace.timed_out = true;
      exchange->observed.cut_off = CutOff::too_slow;
      exchange->pace.receiving = base::Pace(limits.body_idle_ms_max, limits.bytes_per_s_min);
      exchange->handling.readable.set();
    } else {
      // RFC 9113, 8.1: NO_ERROR if the response is complete.
      const bool answered = exchange->handling.running == 0 && exchange->outgoing.finished();
      exchange->observed.cut_off = CutOff::too_slow;
      session_->reset(*exchange, answered ? ErrorCode::no_error : ErrorCode::cancel);
    }
    exchange = first_;  // restart: a resumed handler may release others
  }
}

// Returns true if any body has made progress since the last check.
bool Connection::has_sent() const noexcept {
  for (const H2Exchange* exchange = first_; exchange != nullptr;
       exchange = exchange->handling.next) {
    if (exchange->outgoing.appended() > exchange->pace.sent_bytes) return true;
  }
  return false;
}

// Returns false if the client is too slow on this stream.
bool Connection::keeps_pace(H2Exchange& exchange, const Waiting& waiting) {
  const std::uint64_t received = std::exchange(exchange.pace.received_bytes, 0);
  const OutgoingBody& outgoing = exchange.outgoing;
  const std::uint64_t sent = outgoing.appended() - exchange.pace.sent_bytes;
  exchange.pace.sent_bytes = outgoing.appended();
  const bool answered =
      exchange.handling.running == 0 && outgoing.finished();  // its request continues
  const bool receives = waiting.for_content && (answered || exchange.handling.readable.awaited());
  // A streamed body may have nothing to send.
  const bool has_more = outgoing.next_size(1) > 0 || exchange.handling.wanted.awaited();
  const bool sends = waiting.for_window && has_more &&
                     (waiting.for_connection_window || session_->awaits_window(exchange));
  // The bytes may have moved at any time since the last check, so they are credited first.
  bool keeps = exchange.pace.receiving.moved(0, received);
  keeps = exchange.pace.sending.moved(0, sent) && keeps;
  if (receives) keeps = exchange.pace.receiving.moved(waiting.elapsed_ms, 0) && keeps;
  if (sends) keeps = exchange.pace.sending.moved(waiting.elapsed_ms, 0) && keeps;
  return keeps;
}

}  // namespace h2server::http::h2
