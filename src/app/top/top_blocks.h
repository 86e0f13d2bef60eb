// The parts of the screen of `h2server top`. Each function returns a block of the given width;
// lists are cut to a few lines, except that of the connections.
//
// Pure functions, any thread.
#pragma once

#include <cstddef>
#include <vector>

#include "app/top/top_layout.h"
#include "app/top/top_screen.h"
#include "app/top/top_status.h"

namespace h2server::app {

struct BlockStyle {
  bool colour = false;
  std::size_t columns = 80;
};

// Requests per second as a chart of three lines, then numbers.
Block rate_block(const TopStatus& status, const std::vector<TopSecond>& history, BlockStyle style);
// Time from left to right, durations from top to bottom.
Block heat_block(const TopStatus& status, const std::vector<TopSecond>& history, BlockStyle style);
Block workers_block(const TopStatus& status, BlockStyle style);
Block sites_block(const TopStatus& status, BlockStyle style);
Block paths_block(const TopStatus& status, BlockStyle style);
// Cache, uploads under way, certificates and the log.
Block facts_block(const TopStatus& status, BlockStyle style);

// A title and column heads, then `rows` connections from the one at `first`.
Block connections_block(const TopStatus& status, ConnectionOrder order, std::size_t first,
                        std::size_t rows, BlockStyle style);
inline constexpr std::size_t connections_head_rows = 2;

}  // namespace h2server::app
