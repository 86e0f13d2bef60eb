// A client's side of a conversation, made up: mostly valid, with all that RFC 9113 allows.
#pragma once

#include <cstdint>
#include <string>

namespace h2server::fuzz {

// An input for compare_h2(), the same one for the same seed.
std::string make_h2_conversation(std::uint32_t seed);

}  // namespace h2server::fuzz
