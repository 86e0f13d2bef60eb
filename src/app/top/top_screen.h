// The screen of `h2server top`: lines of text made of a status. It does no input or output.
//
// Pure functions, any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "app/top/top_status.h"

namespace h2server::app {

enum class ConnectionOrder : std::uint8_t {
  age,
  requests,
  active,
  upload,
  client,
  protocol,
  worker
};
std::string_view name_of(ConnectionOrder order) noexcept;
// The one that comes next when orders are tried in turn.
ConnectionOrder next(ConnectionOrder order) noexcept;

struct TopView {
  std::size_t columns = 80;
  std::size_t rows = 24;  // 0: as many as it takes, without the line that lists the keys
  bool colour = false;
  ConnectionOrder order = ConnectionOrder::age;
  std::size_t first_connection = 0;  // where the list of connections begins
  std::string_view trouble = {};     // why the status is old; empty: it is not
};

struct TopScreen {
  std::vector<std::string> lines;       // each as wide as the view, without the line's end
  std::size_t first_connection = 0;     // as shown: less if the list is shorter
  std::size_t connections_on_page = 0;  // for how many there is room, at least 1
};

// `history` is that of add_history().
TopScreen top_screen(const TopStatus& status, const std::vector<TopSecond>& history,
                     const TopView& view);

}  // namespace h2server::app
