#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>
#include <string_view>
#include <tuple>
#include <utility>

#include "app/doctor/doctor_text.h"
#include "app/top/top_blocks.h"
#include "app/top/top_text.h"

namespace h2server::app {

namespace {

constexpr std::size_t fact_list_max = 4;  // uploads, certificates
constexpr std::size_t name_columns = 14;

void add_fact(Block& block, std::string_view name, std::string_view value,
              Tone tone = Tone::plain) {
  Line line = block.line();
  block.add(line.put_left(name, name_columns, Tone::quiet).put(value, tone));
}

std::string part_text(Number part, Number all) {
  return all ? size_text(part) + " of " + size_text(all) : size_text(part);
}

void add_cache(Block& block, const TopCache& cache) {
  const std::uint64_t hits = cache.hits.value_or(0);
  const std::uint64_t all = hits + cache.misses.value_or(0);
  add_fact(block, "cache",
           fmt::format("{} files, {}", number_text(cache.files),
                       part_text(cache.bytes, cache.bytes_max)));
  // Not rounded up: 100 % would be untrue after one miss.
  const double share = all == 0 ? 0 : static_cast<double>(hits * 1000 / all) / 10;
  add_fact(block, "cache hits", all == 0 ? std::string(missing) : fmt::format("{:.1f} %", share));
  add_fact(block, "snapshots", part_text(cache.snapshot_bytes, cache.snapshot_bytes_max));
}

void add_memory(Block& block, const TopMemory& memory) {
  add_fact(block, "memory", part_text(memory.bytes, memory.bytes_max));
  const std::uint64_t refused = memory.refused.value_or(0);
  const std::uint64_t cut_off = memory.cut_off.value_or(0);
  if (refused + cut_off == 0) return;
  add_fact(block, "was short",
           fmt::format("{} refused, {} cut off", counted(refused, "request"),
                       counted(cut_off, "client")),
           Tone::warning);
}

void add_upload_facts(Block& block, const std::vector<TopUpload>& uploads) {
  add_fact(block, "uploads", number_text(uploads.size()));
  for (const TopUpload& upload :
       std::span(uploads).first(std::min(fact_list_max, uploads.size()))) {
    Line line = block.line();
    const std::string moved = part_text(upload.received, upload.size);
    const std::size_t room = line.room() - std::min(line.room(), columns_of(moved) + 4);
    block.add(line.put("  ").put_left(harmless(upload.path), room).put("  ").put(moved));
  }
}

// As on the page in the browser: look at 30 days, act at 7, hurry at 1.
std::pair<std::string, Tone> judged(std::int64_t days) {
  if (days < 0) return {"expired", Tone::bad};
  const std::string days_text = counted(static_cast<std::uint64_t>(days), "day") + " left";
  if (days <= 1) return {days_text + ", renew now", Tone::bad};
  if (days <= 7) return {days_text + ", renew", Tone::bad};
  if (days <= 30) return {days_text + ", soon", Tone::warning};
  return {days_text, Tone::good};
}

void add_certificates(Block& block, std::vector<TopCertificate> certificates) {
  add_fact(block, "certificates", number_text(certificates.size()));
  std::ranges::sort(certificates, {}, [](const TopCertificate& certificate) {
    return std::tuple(certificate.days_left.value_or(INT64_MAX),
                      std::string_view(certificate.names));
  });
  certificates.resize(std::min(fact_list_max, certificates.size()));
  for (const TopCertificate& certificate : certificates) {
    Line line = block.line();
    const auto [text, tone] = certificate.days_left ? judged(*certificate.days_left)
                                                    : std::pair(std::string(missing), Tone::plain);
    const std::size_t room = line.room() - std::min(line.room(), text.size() + 4);
    line.put("  ").put_left(harmless(certificate.names), room).put("  ");
    block.add(line.put(text, tone));
  }
}

// ---- connections

// A column that the list can be sorted by.
struct ConnectionColumn {
  ConnectionOrder order;
  std::size_t columns;
  std::string_view name;
};
constexpr std::array<ConnectionColumn, 7> connection_columns{{
    {ConnectionOrder::client, 40, "client"},  // as long as an IPv6 address
    {ConnectionOrder::protocol, 19, "protocol"},
    {ConnectionOrder::age, 12, "age"},
    {ConnectionOrder::requests, 12, "requests"},
    {ConnectionOrder::active, 8, "active"},
    {ConnectionOrder::upload, 10, "upload"},
    {ConnectionOrder::worker, 7, "worker"},
}};
constexpr std::size_t client_columns_min = 16;

// Returns true if `a` stands before `b`: the largest number first, texts from a to z.
bool is_before(const TopConnection& a, const TopConnection& b, ConnectionOrder order) {
  switch (order) {
    case ConnectionOrder::age:
      return a.age_s > b.age_s;
    case ConnectionOrder::requests:
      return a.requests > b.requests;
    case ConnectionOrder::active:
      return a.active > b.active;
    case ConnectionOrder::upload:
      return a.upload_bytes > b.upload_bytes;
    case ConnectionOrder::client:
      return a.client < b.client;
    case ConnectionOrder::protocol:
      return std::tie(a.protocol, a.tls) < std::tie(b.protocol, b.tls);
    case ConnectionOrder::worker:
      return a.worker < b.worker;
  }
  return false;
}

std::string cell_of(const TopConnection& connection, ConnectionOrder order) {
  switch (order) {
    case ConnectionOrder::age:
      return age_text(connection.age_s);
    case ConnectionOrder::requests:
      return number_text(connection.requests);
    case ConnectionOrder::active:
      return connection.idle ? "idle" : number_text(connection.active);
    case ConnectionOrder::upload:
      return connection.upload_bytes.value_or(0) == 0 ? std::string(missing)
                                                      : size_text(connection.upload_bytes);
    case ConnectionOrder::client:
      return connection.client.empty() ? std::string(missing) : harmless(connection.client);
    case ConnectionOrder::protocol:
      return harmless(connection.protocol + (connection.tls.empty() ? "" : " ") + connection.tls);
    case ConnectionOrder::worker:
      return number_text(connection.worker);
  }
  return {};
}

// Adds the cells, as many as there is room for; `text` returns that of a column.
template <class Text>
Line table_row(const Block& block, Text text) {
  std::size_t others = 0;
  for (const auto& column : std::span(connection_columns).subspan(1)) others += column.columns;
  Line line = block.line();
  const std::size_t rest = line.room() > others ? line.room() - others : 0;
  for (const ConnectionColumn& column : connection_columns) {
    const bool words = column.order == ConnectionOrder::client;
    const std::size_t columns =
        words ? std::clamp(rest, client_columns_min, column.columns) : column.columns;
    if (line.room() < columns) break;
    const auto [shown, tone] = text(column);
    const bool to_left = words || column.order == ConnectionOrder::protocol;
    to_left ? line.put_left(shown, columns, tone) : line.put_right(shown, columns, tone);
  }
  return line;
}

}  // namespace

Block facts_block(const TopStatus& status, BlockStyle style) {
  Block block(style.colour, style.columns);
  block.add_text("Cache, uploads, certificates", Tone::title);
  add_cache(block, status.cache);
  add_memory(block, status.memory);
  add_upload_facts(block, status.uploads);
  add_certificates(block, status.certificates);
  add_fact(block, "access log",
           fmt::format("{} lines, {} dropped", number_text(status.log_lines),
                       number_text(status.log_dropped)),
           status.log_dropped.value_or(0) > 0 ? Tone::warning : Tone::plain);
  return block;
}

Block connections_block(const TopStatus& status, ConnectionOrder order, std::size_t first,
                        std::size_t rows, BlockStyle style) {
  std::vector<const TopConnection*> sorted;
  for (const TopConnection& connection : status.connection_list) sorted.push_back(&connection);
  // Addresses in the list break ties, so that rows stay where they are.
  std::ranges::sort(sorted, [order](const TopConnection* a, const TopConnection* b) {
    if (is_before(*a, *b, order)) return true;
    return !is_before(*b, *a, order) && a < b;
  });
  const std::size_t end = std::min(sorted.size(), first + std::min(rows, sorted.size()));
  Block block(style.colour, style.columns);
  Line title = block.line();
  title.put("Connections ", Tone::title);
  if (first < end) {
    title.put(fmt::format("{} to {} of {}", first + 1, end,
                          number_text(sorted.size() + status.connections_left_out.value_or(0))),
              Tone::quiet);
  }
  block.add(title);
  block.add(table_row(block, [order](const ConnectionColumn& column) {
    return std::pair(std::string(column.name), column.order == order ? Tone::title : Tone::quiet);
  }));
  for (std::size_t i = first; i < end; ++i) {
    block.add(table_row(block, [&](const ConnectionColumn& column) {
      return std::pair(cell_of(*sorted[i], column.order), Tone::plain);
    }));
  }
  return block;
}

}  // namespace h2server::app
