#include "server/memory_guard.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/log.h"
#include "base/memory/memory_budget.h"
#include "net/tls/tls_transport.h"
#include "server/context.h"

namespace h2server::server {

namespace {

// Between two looks at all connections, which take a microsecond for some ten.
constexpr std::int64_t look_ms = 20;
// After a cut, whose memory is freed in the next turns.
constexpr std::int64_t settle_ms = 200;
// While memory is tight, no client with several requests may hold more than this part of the limit.
// One large response is nobody's fault.
constexpr unsigned share_parts = 4;
// Above the second mark, no client may hold more than this part of it, and above the limit no more
// than so many bytes: to cut off a client that holds less would free too little.
constexpr unsigned least_parts = 64;
constexpr std::size_t least_bytes = 16 * 1024;

struct MemoryHolder {
  std::vector<http::Drainable*> connections;
  std::size_t bytes = 0;
  std::size_t requests = 0;

  // A single connection without a request may hold as much as a TLS handshake: if all that is left
  // is clients who only begin, none is to blame.
  [[nodiscard]] bool only_begins() const noexcept {
    return connections.size() == 1 && requests == 0 && bytes <= net::TlsTransport::handshake_bytes;
  }
};

// What a client is blamed for.
std::size_t excess_of(const MemoryHolder& client) noexcept {
  return client.only_begins() ? std::min(client.bytes, least_bytes) : client.bytes;
}

// Returns the client whose connections hold most. A connection without a client's number stands for
// itself: its address is the number.
MemoryHolder find_largest(http::DrainList& connections) {
  std::unordered_map<std::uint64_t, MemoryHolder> clients;
  for (http::Drainable* const connection : connections.members()) {
    const std::size_t bytes = connection->bytes_held();
    if (bytes == 0 || connection->is_cut_off()) continue;
    const std::uint64_t number = connection->client();
    MemoryHolder& client =
        clients[number != 0 ? number : reinterpret_cast<std::uintptr_t>(connection)];
    client.connections.push_back(connection);
    client.bytes += bytes;
    connection->each_exchange([&](const http::ExchangeState&) { ++client.requests; });
  }
  const auto largest = std::ranges::max_element(
      clients, {}, [](const auto& client) { return excess_of(client.second); });
  return largest != clients.end() ? std::move(largest->second) : MemoryHolder();
}

}  // namespace

MemoryGuard::MemoryGuard(WorkerContext& worker) noexcept
    : worker_(worker), engine_(worker.engine) {}

MemoryGuard::~MemoryGuard() {
  if (round_.armed() || look_.armed()) base::FreedMemory::of_process().ask();  // another may do it
  engine_.disarm_timer(again_);
  engine_.disarm_timer(round_);
  engine_.disarm_timer(look_);
}

void MemoryGuard::woken() noexcept {
  base::FreedMemory& freed = base::FreedMemory::of_process();
  const std::uint32_t rounds = freed.rounds();
  if (std::exchange(rounds_seen_, rounds) == rounds) return;
  worker_.free_reserve();
  freed.freed_for(rounds);
}

void MemoryGuard::relieve() {
  base::MemoryBudget& budget = base::MemoryBudget::of_process();
  base::FreedMemory& freed = base::FreedMemory::of_process();
  if (freed.take_request()) begin_round_later();
  if (!budget.is_short()) return;
  if (budget.end_shortage()) {
    worker_.free_reserve();
    begin_round_later();
    return;
  }
  if (!budget.tight()) return;
  if (engine_.now_ms() >= look_from_ms_) {
    look_from_ms_ = engine_.now_ms() + look_ms;
    worker_.free_reserve();
    if (budget.tight()) cut_off_largest();
  }
  come_back();
}

// Those who hold memory may do nothing that leads to another turn.
void MemoryGuard::come_back() noexcept {
  if (again_.armed()) return;
  again_.owner = this;
  again_.fire = [](base::Timer&) {};  // relieve() runs at the end of the turn
  engine_.arm_timer(again_, look_from_ms_);
}

void MemoryGuard::begin_round_later() noexcept {
  if (round_.armed()) return;
  round_.owner = this;
  round_.fire = [](base::Timer& timer) { static_cast<MemoryGuard*>(timer.owner)->begin_round(); };
  engine_.arm_timer(round_, engine_.now_ms() + base::FreedMemory::of_process().pause_ms());
}

// This engine is woken, too. One whose turn takes longer asks for another round.
void MemoryGuard::begin_round() noexcept {
  if (!base::FreedMemory::of_process().begin_round()) return;
  constexpr std::int64_t patience_ms = 100;
  look_.fire = [](base::Timer&) { base::FreedMemory::of_process().look(); };
  engine_.arm_timer(look_, engine_.now_ms() + patience_ms);
}

void MemoryGuard::cut_off_largest() {
  base::MemoryBudget& budget = base::MemoryBudget::of_process();
  const MemoryHolder largest = find_largest(worker_.connections);
  const std::uint64_t limit = budget.limit();
  const std::uint64_t held = budget.held();
  std::uint64_t allowed = limit / share_parts;
  if (budget.critical()) allowed = limit / least_parts;
  if (budget.full()) allowed = least_bytes;
  if (excess_of(largest) <= allowed || (!budget.critical() && largest.requests == 1)) return;
  constexpr std::size_t kib = 1024;
  const std::string address = largest.connections.front()->client_address();
  for (http::Drainable* const connection : largest.connections) connection->cut_off();
  budget.count_cut_off();
  look_from_ms_ = engine_.now_ms() + settle_ms;
  base::log_warning("memory is short, {} KiB of {} KiB: cut off {} with {} KiB in {} connection{}",
                    held / kib, limit / kib,
                    address.empty() ? "a client without an address" : address, largest.bytes / kib,
                    largest.connections.size(), largest.connections.size() == 1 ? "" : "s");
}

}  // namespace h2server::server
