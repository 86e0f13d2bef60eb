#include "app/admin/status_json.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <numeric>
#include <string_view>

#include "h2server/json.h"

namespace h2server::app {

namespace {

std::uint64_t requests_of(const std::vector<std::uint64_t>& durations) {
  return std::accumulate(durations.begin(), durations.end(), std::uint64_t{0});
}

std::uint64_t response_bytes_of(const ServerStatus& status) {
  std::uint64_t bytes = 0;
  for (const ServerStatus::Host& host : status.hosts) bytes += host.response_bytes;
  return bytes;
}

// Appends `name: [...]` with what `one` makes of each element.
template <class List, class One>
void add_list(std::string& json, std::string_view name, const List& list, One one) {
  json += fmt::format(",\"{}\":[", name);
  bool first = true;
  for (const auto& element : list) {
    if (!first) json += ',';
    first = false;
    json += one(element);
  }
  json += ']';
}

std::string numbers(const auto& list) { return fmt::format("[{}]", fmt::join(list, ",")); }

std::string totals(const ServerStatus& status) {
  std::uint64_t request_bytes = 0;
  std::uint64_t errors = 0;
  for (const ServerStatus::Host& host : status.hosts) {
    request_bytes += host.request_bytes;
    errors += host.errors;
  }
  std::uint64_t connections = 0;
  std::uint64_t streams = 0;
  std::uint64_t accepted = 0;
  for (const ServerStatus::Worker& worker : status.workers) {
    connections += worker.connections;
    streams += worker.streams;
    accepted += worker.accepted;
  }
  return fmt::format(
      "{{\"requests\":{},\"response_bytes\":{},\"request_bytes\":{},\"connections\":{},"
      "\"streams\":{},\"accepted\":{},\"errors_5xx\":{}}}",
      requests_of(status.durations), response_bytes_of(status), request_bytes, connections, streams,
      accepted, errors);
}

std::string row_of(const ServerStatus::Host& host) {
  return fmt::format("{{\"name\":{},\"requests\":{},\"errors\":{},\"response_bytes\":{}}}",
                     json_string(host.name), host.requests, host.errors, host.response_bytes);
}

std::string row_of(const ServerStatus::Path& path) {
  return fmt::format("{{\"path\":{},\"count\":{}}}", json_string(path.path), path.count);
}

std::string row_of(const ServerStatus::Worker& worker) {
  return fmt::format(
      "{{\"number\":{},\"connections\":{},\"accepted\":{},\"streams\":{},\"requests\":{},"
      "\"turns\":{},\"waiting\":{}}}",
      worker.number, worker.connections, worker.accepted, worker.streams, worker.requests,
      worker.turns, worker.waiting);
}

std::string row_of(const ServerStatus::Connection& one) {
  return fmt::format(
      "{{\"worker\":{},\"protocol\":{},\"tls\":{},\"client\":{},\"age_s\":{:.1f},\"idle\":{},"
      "\"requests\":{},\"active\":{},\"upload_bytes\":{}}}",
      one.worker, json_string(one.protocol), json_string(one.tls), json_string(one.client),
      one.age_s, one.active == 0, one.requests, one.active, one.upload_bytes);
}

std::string row_of(const ServerStatus::Upload& upload) {
  return fmt::format("{{\"site\":{},\"path\":{},\"received\":{},\"size\":{},\"age_s\":{:.1f}}}",
                     json_string(upload.host), json_string(upload.path), upload.received,
                     upload.size ? std::to_string(*upload.size) : "null", upload.age_s);
}

std::string row_of(const CertificateRow& row) {
  std::vector<std::string> names;
  for (const std::string& name : row.names) names.push_back(json_string(name));
  return fmt::format("{{\"site\":{},\"file\":{},\"names\":{},\"days_left\":{}}}",
                     json_string(row.site), json_string(row.file), numbers(names), row.days_left);
}

std::string row_of(const HistoryEntry& entry) {
  return fmt::format("{{\"unix_s\":{:.3f},\"requests\":{},\"response_bytes\":{},\"counts\":{}}}",
                     entry.unix_s, entry.requests, entry.response_bytes, numbers(entry.counts));
}

std::string cache_of(const ServerStatus::FileCache& cache) {
  return fmt::format("{{\"files\":{},\"bytes\":{},\"bytes_max\":{},\"snapshot_bytes\":{},"
                     "\"snapshot_bytes_max\":{},\"hits\":{},\"misses\":{}}}",
                     cache.entries, cache.bytes, cache.bytes_max, cache.snapshot_bytes,
                     cache.snapshot_bytes_max, cache.hits, cache.loads);
}

std::string memory_of(const ServerStatus::Memory& memory) {
  std::string json = fmt::format("{{\"bytes\":{},\"bytes_max\":{},\"refused\":{},\"cut_off\":{}",
                                 memory.bytes, memory.bytes_max, memory.refused, memory.cut_off);
  add_list(json, "owners", memory.owners, [](const ServerStatus::Memory::Owner& owner) {
    return fmt::format("{{\"name\":{},\"bytes\":{}}}", json_string(owner.name), owner.bytes);
  });
  return json + '}';
}

}  // namespace

void History::add(const ServerStatus& status, double unix_s) {
  const std::uint64_t bytes = response_bytes_of(status);
  const bool comparable = durations_.size() == status.durations.size() && !durations_.empty();
  if (comparable) {
    HistoryEntry entry;
    // Ticks are a second apart: a late one must not leave a gap.
    constexpr double jitter_s = 0.5;
    const double expected_s = entries_.empty() ? unix_s : entries_.back().unix_s + 1;
    entry.unix_s = std::abs(unix_s - expected_s) < jitter_s ? expected_s : unix_s;
    entry.response_bytes = bytes - response_bytes_;
    std::ranges::transform(status.durations, durations_, std::back_inserter(entry.counts),
                           std::minus<>());
    entry.requests = requests_of(entry.counts);
    entries_.push_back(std::move(entry));
    if (entries_.size() > entries_max) entries_.pop_front();
  }
  durations_ = status.durations;
  response_bytes_ = bytes;
}

std::string status_json(const ServerStatus& status, const StatusFacts& facts,
                        const std::deque<HistoryEntry>& history, std::size_t entries) {
  std::string json = fmt::format(
      "{{\"version\":\"" H2SERVER_VERSION
      "\",\"uptime_s\":{:.1f},\"unix_s\":{:.3f},\"pid\":{},\"scheme\":{},\"engine\":{},"
      "\"totals\":{},\"latency_bounds_us\":{},\"cache\":{},\"memory\":{},"
      "\"log\":{{\"lines\":{},\"dropped\":{}}},"
      "\"connections_left_out\":{}",
      facts.unix_s - facts.started_unix_s, facts.unix_s, ::getpid(), json_string(facts.scheme),
      json_string(facts.engine), totals(status), numbers(status.duration_bounds_us),
      cache_of(status.cache), memory_of(status.memory), status.log.lines, status.log.dropped,
      status.connections_left_out);
  const auto row = [](const auto& one) { return row_of(one); };
  const std::size_t shown = std::min(entries, history.size());
  add_list(json, "history",
           std::vector(history.end() - static_cast<std::ptrdiff_t>(shown), history.end()), row);
  add_list(json, "sites", status.hosts, row);
  add_list(json, "paths", status.paths, row);
  add_list(json, "workers", status.workers, row);
  add_list(json, "connections", status.connections, row);
  add_list(json, "uploads", status.uploads, row);
  add_list(json, "certificates", facts.certificates, row);
  json += '}';
  return json;
}

}  // namespace h2server::app
