#include "relay/delay_line.h"

#include <algorithm>
#include <cmath>

#include "base/assert.h"

namespace h2server::lab::relay {

namespace {

// With a bandwidth limit, bytes leave in pieces of an Ethernet packet's payload. Without one, bytes
// that came in together stay together.
constexpr std::size_t packet_bytes = 1460;

}  // namespace

// Returns when these bytes have left the sender.
std::int64_t DelayLine::leave(std::int64_t now_ns, std::size_t bytes) noexcept {
  busy_until_ns_ = std::max(now_ns, busy_until_ns_);
  if (options_.bytes_per_second > 0) {
    const double seconds = static_cast<double>(bytes) / options_.bytes_per_second;
    busy_until_ns_ += static_cast<std::int64_t>(std::ceil(seconds * 1e9));
  }
  return busy_until_ns_;
}

void DelayLine::put(std::int64_t now_ns, std::string_view bytes) {
  ASSERT(!end_due_ns_ && bytes.size() <= room());
  bytes_ += bytes.size();
  while (!bytes.empty()) {
    const std::string_view part =
        options_.bytes_per_second > 0 ? bytes.substr(0, packet_bytes) : bytes;
    bytes.remove_prefix(part.size());
    const std::int64_t left_ns = leave(now_ns, part.size());
    packets_.push_back({.due_ns = left_ns + options_.delay_ns, .bytes = std::string(part)});
  }
}

void DelayLine::put_end(std::int64_t now_ns) {
  ASSERT(!end_due_ns_);
  end_due_ns_ = leave(now_ns, 0) + options_.delay_ns;
}

std::vector<std::string_view> DelayLine::arrived(std::int64_t now_ns, std::size_t parts_max) const {
  std::vector<std::string_view> parts;
  for (const Packet& packet : packets_) {
    if (packet.due_ns > now_ns || parts.size() == parts_max) break;
    parts.push_back(std::string_view(packet.bytes).substr(parts.empty() ? taken_ : 0));
  }
  return parts;
}

void DelayLine::take(std::size_t bytes) {
  ASSERT(bytes <= bytes_);
  bytes_ -= bytes;
  taken_ += bytes;
  while (!packets_.empty() && taken_ >= packets_.front().bytes.size()) {
    taken_ -= packets_.front().bytes.size();
    packets_.pop_front();
  }
}

bool DelayLine::end_arrived(std::int64_t now_ns) const noexcept {
  return packets_.empty() && end_due_ns_ && *end_due_ns_ <= now_ns;
}

std::optional<std::int64_t> DelayLine::next_ns() const noexcept {
  return packets_.empty() ? end_due_ns_ : packets_.front().due_ns;
}

}  // namespace h2server::lab::relay
