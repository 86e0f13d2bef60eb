#include "http/h2/priority.h"

#include <bit>
#include <optional>

#include "base/assert.h"
#include "http/fields/syntax.h"

namespace h2server::http::h2 {

namespace {

// Takes the text up to the next comma outside a string (RFC 8941, 3.3.3).
std::string_view take_member(std::string_view& rest) noexcept {
  bool quoted = false;
  std::size_t end = 0;
  for (; end < rest.size() && (quoted || rest[end] != ','); ++end) {
    if (quoted && rest[end] == '\\') ++end;
    else if (rest[end] == '"') quoted = !quoted;
  }
  end = std::min(end, rest.size());
  const std::string_view member = rest.substr(0, end);
  rest.remove_prefix(std::min(end + 1, rest.size()));
  return trim(member);
}

std::optional<bool> as_boolean(std::string_view value) noexcept {
  if (value.empty() || value == "?1") return true;  // a key alone is true
  if (value == "?0") return false;
  return std::nullopt;
}

}  // namespace

Priority parse_priority(std::string_view value) noexcept {
  Priority priority;
  while (!value.empty()) {
    const std::string_view member = take_member(value);
    const std::string_view item = member.substr(0, member.find(';'));  // without parameters
    const std::size_t equals = std::min(item.find('='), item.size());
    const std::string_view key = item.substr(0, equals);
    const std::string_view given = item.substr(std::min(equals + 1, item.size()));
    if (key == "u" && given.size() == 1 && given[0] >= '0' && given[0] <= '7') {
      priority.urgency = static_cast<std::uint8_t>(given[0] - '0');
    } else if (key == "i") {
      priority.incremental = as_boolean(given).value_or(priority.incremental);
    }
  }
  return priority;
}

void Scheduler::add(H2Exchange& exchange) noexcept {
  Stream& stream = exchange.stream;
  ASSERT(!stream.ready);
  stream.ready = true;
  stream.turn_used = 0;
  waiting_ |= static_cast<std::uint8_t>(1U << stream.priority.urgency);
  H2Exchange*& front = fronts_[stream.priority.urgency];
  if (front == nullptr) {
    front = stream.next_ready = stream.previous_ready = &exchange;
    return;
  }
  H2Exchange* const back = front->stream.previous_ready;
  stream.next_ready = front;
  stream.previous_ready = back;
  back->stream.next_ready = front->stream.previous_ready = &exchange;
}

void Scheduler::remove(H2Exchange& exchange) noexcept {
  Stream& stream = exchange.stream;
  if (!std::exchange(stream.ready, false)) return;
  H2Exchange*& front = fronts_[stream.priority.urgency];
  if (stream.next_ready == &exchange) {
    front = nullptr;
    waiting_ &= static_cast<std::uint8_t>(~(1U << stream.priority.urgency));
    return;
  }
  if (front == &exchange) front = stream.next_ready;
  stream.next_ready->stream.previous_ready = stream.previous_ready;
  stream.previous_ready->stream.next_ready = stream.next_ready;
}

H2Exchange* Scheduler::first() const noexcept {
  if (waiting_ == 0) return nullptr;
  return fronts_[static_cast<std::size_t>(std::countr_zero(waiting_))];
}

void Scheduler::sent(H2Exchange& exchange, std::uint32_t bytes) noexcept {
  Stream& stream = exchange.stream;
  if (!stream.ready || !stream.priority.incremental) return;
  const bool alone = stream.next_ready == &exchange;
  stream.turn_used += bytes;
  if (stream.turn_used < turn_bytes && !alone) return;
  stream.turn_used = 0;
  H2Exchange*& front = fronts_[stream.priority.urgency];
  if (front == &exchange) front = stream.next_ready;  // rotates the ring: it is the back now
}

}  // namespace h2server::http::h2
