// Preconditions, held against RFC 9110, 13.2.2 and against a list of entity tags that is read in
// another way.
#pragma once

#include <cstdint>
#include <string_view>

namespace h2server::fuzz {

// `value` is the value of each of the fields in turn, and of several at once.
void check_preconditions(std::string_view value, std::int64_t now);

}  // namespace h2server::fuzz
