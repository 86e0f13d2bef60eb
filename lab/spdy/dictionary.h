// The dictionary with which both ends begin to compress header blocks (SPDY, 2.6.10.1).
#pragma once

#include <string_view>

namespace h2server::lab::spdy {

// Static lifetime. Any thread.
[[nodiscard]] std::string_view dictionary();

}  // namespace h2server::lab::spdy
