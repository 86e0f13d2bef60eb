// The keys of `h2server top`, as terminals send them (ECMA-48 and the VT220's sequences).
//
// Pure functions, any thread.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

namespace h2server::app {

enum class Key : std::uint8_t { quit, sort, up, down, page_up, page_down, home, end };

// Returns the keys of what was read at once; others are left out. A sequence that is cut at the end
// is lost, which terminals avoid by sending it in one piece.
std::vector<Key> parse_keys(std::string_view bytes);

}  // namespace h2server::app
