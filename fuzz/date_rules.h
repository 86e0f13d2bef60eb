// Dates, held against the C library's calendar.
#pragma once

#include <cstdint>
#include <string_view>

namespace h2server::fuzz {

// A text that may be a date; `now` places a year of two digits.
void check_date(std::string_view text, std::int64_t now);

// Any number of seconds, in all three formats and back.
void check_seconds(std::int64_t seconds);

}  // namespace h2server::fuzz
