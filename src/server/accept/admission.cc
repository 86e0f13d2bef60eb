#include "server/accept/admission.h"

#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>
#include <cstring>
#include <string_view>

#include "base/keyed_hash.h"
#include "base/log.h"
#include "base/memory/freed_memory.h"

namespace h2server::server {

std::size_t Admission::Hash::operator()(const Address& address) const noexcept {
  std::array<char, sizeof address.network + sizeof address.host> bytes;
  std::memcpy(bytes.data(), address.network.data(), address.network.size());
  std::memcpy(bytes.data() + address.network.size(), address.host.data(), address.host.size());
  return base::keyed_hash({bytes.data(), bytes.size()});
}

// Returns nullopt for a Unix socket. A connection that was reset counts for the empty address.
std::optional<Admission::Address> Admission::address_of(int connection) noexcept {
  Address address;
  sockaddr_storage peer{};
  socklen_t size = sizeof peer;
  // ENOTCONN: the peer is gone. ENOBUFS: the system is short of memory.
  if (::getpeername(connection, reinterpret_cast<sockaddr*>(&peer), &size) != 0) return address;
  if (peer.ss_family == AF_UNIX) return std::nullopt;
  if (peer.ss_family == AF_INET) {
    std::memcpy(address.host.data(), &reinterpret_cast<const sockaddr_in&>(peer).sin_addr, 4);
  } else if (peer.ss_family == AF_INET6) {
    const in6_addr& ip = reinterpret_cast<const sockaddr_in6&>(peer).sin6_addr;
    // One client may own a network of 64 bits (RFC 4291, 2.5.4).
    if (IN6_IS_ADDR_V4MAPPED(&ip)) {
      std::memcpy(address.host.data(), ip.s6_addr + 12, 4);
    } else {
      std::memcpy(address.network.data(), ip.s6_addr, address.network.size());
    }
  }
  return address;
}

Admission::Shard& Admission::shard_of(const Address& address) noexcept {
  return shards_[Hash{}(address) / 64 % shards_.size()];
}

std::expected<Admission::Ticket, Admission::Refusal> Admission::admit(int connection) {
  const unsigned before = total_.fetch_add(1);
  if (limits_.connections_max > 0 && before >= limits_.connections_max + limits_.shedding_max) {
    total_.fetch_sub(1);
    return std::unexpected(Refusal::full);
  }
  if (limits_.per_address_max == 0) return Ticket(*this, nullptr);
  const std::optional<Address> address = address_of(connection);
  if (!address) return Ticket(*this, nullptr);
  Shard& shard = shard_of(*address);
  const std::lock_guard lock(shard.mutex);
  const auto count = shard.counts.try_emplace(*address, 0).first;
  if (count->second >= limits_.per_address_max) {
    total_.fetch_sub(1);
    return std::unexpected(Refusal::address_full);
  }
  ++count->second;
  return Ticket(*this, &*count);
}

void Admission::leave(Counts::value_type* count) noexcept {
  total_.fetch_sub(1);
  if (count != nullptr) {
    Shard& shard = shard_of(count->first);
    const std::lock_guard lock(shard.mutex);
    if (--count->second == 0) shard.counts.erase(count->first);
  }
  base::FreedMemory::of_process().ask();
}

std::uint64_t Admission::Ticket::client() const noexcept {
  return admission_ != nullptr && count_ != nullptr ? Hash{}(count_->first) : 0;
}

bool Admission::Ticket::is_over() const noexcept {
  const unsigned most = admission_->limits_.connections_max;
  return most > 0 && admission_->connections() > most;
}

void Admission::report(Refusal refusal, std::int64_t now_ms) {
  constexpr std::int64_t gap_ms = 10'000;  // between two log lines
  std::int64_t from_ms = report_from_ms_.load();
  if (now_ms < from_ms || !report_from_ms_.compare_exchange_strong(from_ms, now_ms + gap_ms)) {
    return;
  }
  if (refusal == Refusal::full) {
    base::log_warning("{} connections are open, as many as connections_max allows: new ones are "
                      "refused",
                      limits_.connections_max);
  } else {
    base::log_warning("an address has {} connections, as many as connections_per_address allows: "
                      "more from it are refused",
                      limits_.per_address_max);
  }
}

}  // namespace h2server::server
