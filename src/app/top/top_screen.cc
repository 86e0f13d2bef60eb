#include "app/top/top_screen.h"

#include <fmt/format.h>

#include <algorithm>

#include "app/top/top_blocks.h"
#include "app/top/top_layout.h"
#include "app/top/top_text.h"

namespace h2server::app {

namespace {

constexpr std::size_t side_by_side_columns = 100;  // from this width on
constexpr std::size_t gap = 3;                     // between blocks side by side
constexpr std::size_t heat_rows_min = 50;          // from this height on there is a heat map
constexpr std::size_t connection_rows_min = 4;  // so many are always seen, if the screen has them

void add_header(Block& block, const TopStatus& status, std::string_view trouble) {
  const std::string_view state = trouble.empty() ? "live" : "no connection";
  Line line = block.line();
  line.put("h2server ", Tone::title).put(harmless(status.version), Tone::title);
  line.put("  up ").put(age_text(status.uptime_s));
  for (const std::string& text : {status.scheme, status.engine}) {
    if (!text.empty()) line.put("  ").put(harmless(text));
  }
  if (status.pid) line.put(fmt::format("  process {}", *status.pid), Tone::quiet);
  line.fill(state.size() + 1).put(" ");
  block.add(line.put(state, trouble.empty() ? Tone::good : Tone::bad));
}

// Blocks side by side, or one below the other if there is no room.
void add_pair(Block& block, const TopStatus& status, auto left, auto right) {
  const bool wide = block.columns() >= side_by_side_columns;
  const std::size_t half = (block.columns() - gap) / 2;
  const BlockStyle left_style{block.colour(), wide ? half : block.columns()};
  const BlockStyle right_style{block.colour(),
                               wide ? block.columns() - gap - half : block.columns()};
  block.add_empty();
  if (wide) {
    block.add(left(status, left_style), right(status, right_style));
    return;
  }
  block.add(left(status, left_style));
  block.add_empty();
  block.add(right(status, right_style));
}

// Everything above the connections.
Block upper_part(const TopStatus& status, const std::vector<TopSecond>& history,
                 const TopView& view) {
  const BlockStyle style{view.colour, view.columns};
  Block block(view.colour, view.columns);
  add_header(block, status, view.trouble);
  block.add(rate_block(status, history, style));
  if (view.rows == 0 || view.rows >= heat_rows_min) {
    block.add_empty();
    block.add(heat_block(status, history, style));
  }
  add_pair(block, status, workers_block, paths_block);
  add_pair(block, status, sites_block, facts_block);
  return block;
}

void add_keys(Block& block, const TopView& view) {
  if (!view.trouble.empty()) {
    block.add_text(harmless(view.trouble), Tone::bad);
    return;
  }
  Line line = block.line();
  line.put("q").put(" ends   ", Tone::quiet).put("s").put(" sorts by ", Tone::quiet);
  line.put(name_of(view.order)).put("   ").put("↑ ↓ PgUp PgDn").put(" connections", Tone::quiet);
  block.add(line);
}

}  // namespace

std::string_view name_of(ConnectionOrder order) noexcept {
  switch (order) {
    case ConnectionOrder::age:
      return "age";
    case ConnectionOrder::requests:
      return "requests";
    case ConnectionOrder::active:
      return "active";
    case ConnectionOrder::upload:
      return "upload";
    case ConnectionOrder::client:
      return "client";
    case ConnectionOrder::protocol:
      return "protocol";
    case ConnectionOrder::worker:
      return "worker";
  }
  return "";
}

ConnectionOrder next(ConnectionOrder order) noexcept {
  if (order == ConnectionOrder::worker) return ConnectionOrder::age;
  return static_cast<ConnectionOrder>(static_cast<std::uint8_t>(order) + 1);
}

TopScreen top_screen(const TopStatus& status, const std::vector<TopSecond>& history,
                     const TopView& view) {
  const BlockStyle style{view.colour, view.columns};
  const std::size_t known = status.connection_list.size();
  Block block = upper_part(status, history, view);
  TopScreen screen;
  if (view.rows == 0) {
    block.add_empty();
    block.add(connections_block(status, view.order, 0, known, style));
    screen.lines = block.lines();
    screen.connections_on_page = std::max<std::size_t>(1, known);
    return screen;
  }
  // An empty line, the head of the list, connections and the keys.
  constexpr std::size_t fixed_rows = 1 + connections_head_rows + 1;
  const std::size_t wanted = std::min(connection_rows_min, std::max<std::size_t>(1, known));
  block.cut(view.rows - std::min(view.rows, fixed_rows + wanted));
  const std::size_t used = block.lines().size() + fixed_rows;
  const std::size_t page = view.rows > used ? view.rows - used : 1;
  const std::size_t last_first = known > page ? known - page : 0;
  screen.first_connection = std::min(view.first_connection, last_first);
  screen.connections_on_page = page;
  block.add_empty();
  block.add(connections_block(status, view.order, screen.first_connection, page, style));
  while (block.lines().size() + 1 < view.rows) block.add_empty();
  block.cut(view.rows > 0 ? view.rows - 1 : 0);
  add_keys(block, view);
  screen.lines = block.lines();
  return screen;
}

}  // namespace h2server::app
