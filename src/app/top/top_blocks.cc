#include "app/top/top_blocks.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <span>

#include "app/top/top_text.h"

namespace h2server::app {

namespace {

constexpr std::size_t list_max = 8;  // lines of a list; the page in the browser has all
constexpr std::size_t seconds_shown = 120;
constexpr std::size_t label_columns = 9;

// The last seconds, the newest last; null for those that are missing.
std::vector<const TopSecond*> by_second(const std::vector<TopSecond>& history,
                                        std::size_t columns) {
  std::vector<const TopSecond*> seconds(std::min(seconds_shown, columns), nullptr);
  for (const TopSecond& second : history) {
    const double age = std::round(history.back().unix_s - second.unix_s);
    if (!(age >= 0 && age < static_cast<double>(seconds.size()))) continue;
    seconds[seconds.size() - 1 - static_cast<std::size_t>(age)] = &second;
  }
  return seconds;
}

std::size_t chart_columns(BlockStyle style) {
  return style.columns > label_columns ? style.columns - label_columns : 0;
}

std::string quantile_text(const TopStatus& status, const std::vector<std::uint64_t>& counts,
                          double share) {
  const auto bucket = quantile_bucket(counts, share);
  return bucket ? bucket_text(status.bounds_us, *bucket) : std::string(missing);
}

// Puts "name value" with some room behind it.
void put_fact(Line& line, std::string_view name, const std::string& value,
              Tone tone = Tone::plain) {
  if (line.room() < name.size() + 1 + columns_of(value)) return;
  line.put(name, Tone::quiet).put(" ").put(value, tone).put("   ");
}

Block titled(std::string_view title, BlockStyle style) {
  Block block(style.colour, style.columns);
  block.add_text(title, Tone::title);
  return block;
}

// Adds a line for each element, at most list_max.
template <class T, class Put>
void add_list_rows(Block& block, const std::vector<T>& list, Put put) {
  if (list.empty()) block.add_text(missing, Tone::quiet);
  const bool all = list.size() <= list_max;
  const std::size_t shown = all ? list.size() : list_max - 1;
  for (std::size_t i = 0; i < shown; ++i) {
    Line line = block.line();
    put(line, list[i]);
    block.add(line);
  }
  if (!all) block.add_text(fmt::format("and {} more", list.size() - shown), Tone::quiet);
}

template <class T>
std::uint64_t most_of(const std::vector<T>& list, Number T::* member) {
  std::uint64_t most = 0;
  for (const T& element : list) most = std::max(most, (element.*member).value_or(0));
  return most;
}

void add_numbers(Block& block, const TopStatus& status, const std::vector<TopSecond>& history) {
  const auto recent = summed_counts(history, 10);
  const bool known = !history.empty();
  Line times = block.line();
  put_fact(times, "now", number_text(known ? Number(history.back().requests) : Number()) + "/s");
  put_fact(times, "median", quantile_text(status, recent, 0.5));
  put_fact(times, "90 %", quantile_text(status, recent, 0.9));
  put_fact(times, "99 %", quantile_text(status, recent, 0.99));
  put_fact(times, "sent",
           size_text(known ? Number(history.back().response_bytes) : Number()) + "/s");
  block.add(times);
  Line totals = block.line();
  put_fact(totals, "connections", number_text(status.connections));
  put_fact(totals, "streams", number_text(status.streams));
  put_fact(totals, "requests", number_text(status.requests));
  put_fact(totals, "sent", size_text(status.response_bytes));
  put_fact(totals, "5xx", number_text(status.errors_5xx),
           status.errors_5xx.value_or(0) > 0 ? Tone::bad : Tone::plain);
  block.add(totals);
}

// The rows of the heat map: each covers the buckets up to a power of ten.
struct HeatRow {
  std::string label;
  std::size_t begin = 0;  // buckets
  std::size_t end = 0;
};

std::vector<HeatRow> heat_rows(const std::vector<std::uint64_t>& bounds_us) {
  std::vector<HeatRow> rows;
  std::size_t begin = 0;
  for (std::size_t i = 0; i < bounds_us.size(); ++i) {
    const double power = std::log10(static_cast<double>(bounds_us[i]));
    if (power != std::floor(power)) continue;
    rows.push_back({.label = duration_text(bounds_us[i]), .begin = begin, .end = i + 1});
    begin = i + 1;
  }
  rows.push_back({.label = "more", .begin = begin, .end = bounds_us.size() + 1});
  std::ranges::reverse(rows);
  return rows;
}

std::uint64_t count_in(const TopSecond* second, const HeatRow& row) {
  std::uint64_t count = 0;
  if (second == nullptr) return count;
  for (std::size_t i = row.begin; i < std::min(row.end, second->counts.size()); ++i) {
    count += second->counts[i];
  }
  return count;
}

}  // namespace

Block rate_block(const TopStatus& status, const std::vector<TopSecond>& history, BlockStyle style) {
  Block block(style.colour, style.columns);
  std::vector<Number> rates;
  std::uint64_t peak = 0;
  for (const TopSecond* second : by_second(history, chart_columns(style))) {
    rates.push_back(second == nullptr ? Number() : Number(second->requests));
    peak = std::max(peak, rates.back().value_or(0));
  }
  const auto chart = sparkline(rates, rates.size(), 3);
  const std::array<std::string, 3> labels{number_text(peak), "req/s", "0"};
  for (std::size_t row = 0; row < labels.size(); ++row) {
    Line line = block.line();
    line.put_right(labels[row], label_columns - 1, Tone::quiet).put(" ");
    block.add(line.put(chart[row], Tone::chart));
  }
  add_numbers(block, status, history);
  return block;
}

Block heat_block(const TopStatus& status, const std::vector<TopSecond>& history, BlockStyle style) {
  Block block = titled("Requests by duration", style);
  if (status.bounds_us.empty()) return block;
  const auto seconds = by_second(history, chart_columns(style));
  const auto rows = heat_rows(status.bounds_us);
  std::uint64_t most = 1;
  for (const HeatRow& row : rows) {
    for (const TopSecond* second : seconds) most = std::max(most, count_in(second, row));
  }
  for (const HeatRow& row : rows) {
    Line line = block.line();
    line.put_right(row.label, label_columns - 1, Tone::quiet).put(" ");
    std::string cells;
    for (const TopSecond* second : seconds) cells += shade(count_in(second, row), most);
    block.add(line.put(cells, Tone::chart));
  }
  return block;
}

Block workers_block(const TopStatus& status, BlockStyle style) {
  Block block = titled("Workers", style);
  const std::uint64_t most = most_of(status.workers, &TopWorker::connections);
  Line head = block.line();
  head.put_right("no.", 3, Tone::quiet).put_right("connections", 12, Tone::quiet).put("  ");
  const std::size_t bar_columns = head.room() > 24 ? head.room() - 20 : 4;
  head.put_left("", bar_columns).put_right("streams", 8, Tone::quiet);
  block.add(head.put_right("requests", 12, Tone::quiet));
  add_list_rows(block, status.workers, [&](Line& line, const TopWorker& worker) {
    line.put_right(number_text(worker.number), 3);
    line.put_right(number_text(worker.connections), 12).put("  ");
    const std::string filled = bar(worker.connections.value_or(0), most, bar_columns);
    line.put_left(filled, bar_columns, Tone::chart).put_right(number_text(worker.streams), 8);
    line.put_right(number_text(worker.requests), 12);
  });
  return block;
}

Block sites_block(const TopStatus& status, BlockStyle style) {
  Block block = titled("Sites", style);
  constexpr std::size_t numbers = 12 + 9 + 10;
  const std::size_t name = style.columns > numbers + 8 ? style.columns - numbers : 8;
  Line head = block.line();
  head.put_left("name", name, Tone::quiet).put_right("requests", 12, Tone::quiet);
  block.add(head.put_right("errors", 9, Tone::quiet).put_right("sent", 10, Tone::quiet));
  add_list_rows(block, status.sites, [name](Line& line, const TopSite& site) {
    line.put_left(site.name.empty() ? "(any other host)" : harmless(site.name), name);
    line.put_right(number_text(site.requests), 12);
    line.put_right(number_text(site.errors), 9,
                   site.errors.value_or(0) > 0 ? Tone::bad : Tone::plain);
    line.put_right(size_text(site.response_bytes), 10);
  });
  return block;
}

Block paths_block(const TopStatus& status, BlockStyle style) {
  Block block = titled("Top paths", style);
  add_list_rows(block, status.paths, [](Line& line, const TopPath& path) {
    line.put_right(number_text(path.count), 12)
        .put("  ")
        .put_left(harmless(path.path), line.room());
  });
  return block;
}

}  // namespace h2server::app
