#include "observe/metrics.h"

#include <algorithm>
#include <bit>

#include "base/assert.h"
#include "observe/open_metrics.h"
#include "observe/url_parts.h"

namespace h2server::observe {

namespace {
void add(base::Counter& cell, std::uint64_t value) noexcept { cell.set(cell.get() + value); }

void sum(std::uint64_t& to, const base::Counter& cell) noexcept { to += cell.get(); }

template <std::size_t size>
void sum(std::array<std::uint64_t, size>& to,
         const std::array<base::Counter, size>& cells) noexcept {
  for (std::size_t at = 0; at < size; ++at) sum(to[at], cells[at]);
}

void sum(SiteNumbers<std::uint64_t>& to, const SiteNumbers<base::Counter>& cells) noexcept {
  sum(to.requests, cells.requests);
  sum(to.durations, cells.durations);
  sum(to.duration_us, cells.duration_us);
  sum(to.response_bytes, cells.response_bytes);
  sum(to.request_bytes, cells.request_bytes);
  sum(to.cut_off, cells.cut_off);
}

void sum(WorkerNumbers<std::uint64_t>& to, const WorkerNumbers<base::Counter>& cells) noexcept {
  sum(to.handshake, cells.handshake);
  sum(to.group, cells.group);
  sum(to.connections_opened, cells.connections_opened);
  sum(to.connections_open, cells.connections_open);
  sum(to.reset, cells.reset);
  sum(to.flood, cells.flood);
}

Protocol protocol_of(std::uint8_t version) noexcept {
  if (version >= 20) return Protocol::http_2;
  return version == 10 ? Protocol::http_1_0 : Protocol::http_1_1;
}

// The first bucket that can hold a duration with so many significant bits.
constexpr std::array<std::uint8_t, 33> first_buckets = [] {
  std::array<std::uint8_t, 33> first{};
  for (std::size_t bits = 1; bits < first.size(); ++bits) {
    const std::uint64_t smallest = std::uint64_t{1} << (bits - 1);
    while (first[bits] < duration_bounds_us.size() && duration_bounds_us[first[bits]] < smallest) {
      ++first[bits];
    }
  }
  return first;
}();
}  // namespace

Group group_of(std::string_view name) noexcept {
  for (const Group group :
       {Group::x25519_mlkem768, Group::x25519, Group::secp256r1, Group::secp384r1}) {
    if (name == name_of(group)) return group;
  }
  return Group::other;
}

Method method_of(std::string_view name) noexcept {
  if (name == "GET") return Method::get;
  switch (name.size()) {
    case 3:
      return name == "PUT" ? Method::put : Method::other;
    case 4:
      if (name == "POST") return Method::post;
      return name == "HEAD" ? Method::head : Method::other;
    case 5:
      return name == "PATCH" ? Method::patch : Method::other;
    case 6:
      return name == "DELETE" ? Method::remove : Method::other;
    case 7:
      return name == "OPTIONS" ? Method::options : Method::other;
    default:
      return Method::other;
  }
}

std::size_t duration_bucket(std::int64_t duration_us) noexcept {
  if (duration_us <= 0) return 0;
  const auto us = static_cast<std::uint64_t>(duration_us);
  if (us > duration_bounds_us.back()) return duration_bounds_us.size();
  std::size_t bucket = first_buckets[static_cast<std::size_t>(std::bit_width(us))];
  while (us > duration_bounds_us[bucket]) ++bucket;
  return bucket;
}

WorkerMetrics::WorkerMetrics(std::size_t sites) : sites_(sites) {}

WorkerMetrics::~WorkerMetrics() = default;

WorkerMetrics::Site& WorkerMetrics::site(std::uint32_t number) {
  ASSERT(number < sites_.size());
  Site* found = sites_[number].load(std::memory_order_relaxed);
  if (found == nullptr) [[unlikely]] {
    found = owned_.emplace_back(std::make_unique<Site>()).get();
    sites_[number].store(found, std::memory_order_release);
  }
  return *found;
}

void WorkerMetrics::count_request(std::uint32_t number, const AccessRecord& record) {
  Site& cells = site(number);
  const int status_class = record.status / 100;
  const std::size_t known =
      status_class >= 1 && status_class <= 5 ? static_cast<std::size_t>(status_class) : 0;
  cells.requests[request_cell(method_of(record.method), known, protocol_of(record.version))].up();
  cells.durations[duration_bucket(record.duration_us)].up();
  add(cells.duration_us, static_cast<std::uint64_t>(std::max<std::int64_t>(record.duration_us, 0)));
  add(cells.response_bytes, record.response_bytes);
  if (record.request_bytes != 0) add(cells.request_bytes, record.request_bytes);
  if (record.cut_off != CutOff::none) {
    cells.cut_off[static_cast<std::size_t>(record.cut_off)].up();
  }
  if (watched_.load(std::memory_order_relaxed)) [[unlikely]] {
    top_paths_.count(split_target(record.target).path);
  }
}

void WorkerMetrics::add_to(Totals& totals) const {
  if (totals.sites.size() < sites_.size()) totals.sites.resize(sites_.size());
  for (std::size_t at = 0; at < sites_.size(); ++at) {
    const Site* const cells = sites_[at].load(std::memory_order_acquire);
    if (cells != nullptr) sum(totals.sites[at], *cells);
  }
  sum(totals.workers, numbers);
}

}  // namespace h2server::observe
