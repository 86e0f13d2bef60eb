// Checks of the date functions against the C library's calendar.
#pragma once

#include <cstdint>
#include <string_view>

namespace h2server::fuzz {

// `text` may be a date. `now` decides the century of a two-digit year.
void check_date(std::string_view text, std::int64_t now);

// Formats `seconds` in all three formats and parses the results. Takes any number.
void check_seconds(std::int64_t seconds);

}  // namespace h2server::fuzz
