// HTTP dates (RFC 9110, 5.6.7) to and from seconds since 1970-01-01T00:00:00Z.
//
// Not a clock and not a calendar: no locale, no time zone, no gmtime. Pure functions, any thread,
// no allocation.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace h2server::http {

inline constexpr std::size_t date_size = 29;  // "Sun, 06 Nov 1994 08:49:37 GMT"

// Writes an IMF-fixdate without a terminating NUL. The year has four digits: seconds outside the
// years 0000 to 9999 are clamped to them.
void format_date(std::int64_t unix_seconds, std::span<char, date_size> out) noexcept;

// Reads any of the three formats that a recipient must accept: IMF-fixdate, RFC 850 and asctime.
// Strict: exact case, exact spacing, an existing date, and the right day name if the year has four
// digits. Returns nullopt otherwise. Second 60 is a leap second and counts as the first second of
// the next minute. `now` resolves a two-digit year (RFC 850), to at most 50 years in the future.
std::optional<std::int64_t> parse_date(std::string_view text, std::int64_t now) noexcept;

}  // namespace h2server::http
