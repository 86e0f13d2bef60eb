// Generates a client's side of an HTTP/2 conversation: mostly valid, with most frame types.
#pragma once

#include <cstdint>
#include <string>

namespace h2server::fuzz {

// Returns an input for compare_h2(). The same seed gives the same input.
std::string make_h2_conversation(std::uint32_t seed);

}  // namespace h2server::fuzz
