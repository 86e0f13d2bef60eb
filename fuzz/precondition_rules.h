// Checks of preconditions against RFC 9110, 13.2.2 and an independent parser of entity tag lists.
#pragma once

#include <cstdint>
#include <string_view>

namespace h2server::fuzz {

// Uses `value` as the value of each field alone, and of all fields at once.
void check_preconditions(std::string_view value, std::int64_t now);

}  // namespace h2server::fuzz
