// Words numbers and hostile texts for a terminal, and lays them out in columns. Pure functions, any
// thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "app/top/top_status.h"

namespace h2server::app {

// What stands for a missing value.
inline constexpr std::string_view missing = "-";

std::string number_text(Number number);       // "1,234"
std::string size_text(Number bytes);          // "1.5 GiB"
std::string age_text(Number seconds);         // "3 h 20 min"
std::string duration_text(std::uint64_t us);  // "2.5 ms"
// The upper bound of a bucket, or "> 10 s".
std::string bucket_text(const std::vector<std::uint64_t>& bounds_us, std::size_t bucket);

// Returns `text` with "%1B" and the like for each byte that is not printable ASCII: a terminal
// obeys control characters, and others may change the direction or take no column or two.
std::string harmless(std::string_view text);

// The number of columns of a text that harmless() or this program made: one for each character.
std::size_t columns_of(std::string_view text) noexcept;

// Returns the text in exactly `columns` columns: padded, or cut with ".." at the end.
std::string left(std::string_view text, std::size_t columns);
std::string right(std::string_view text, std::size_t columns);

// A bar for `value` of `most`, of `columns` at most, in eighths of a column.
std::string bar(std::uint64_t value, std::uint64_t most, std::size_t columns);

// Returns `rows` lines, the upper one first, with a column for each of the last `columns` values.
// Missing values leave their column empty, others show at least an eighth of it.
std::vector<std::string> sparkline(std::span<const Number> values, std::size_t columns,
                                   std::size_t rows);

// A character for `value` of `most`, by its logarithm: a space for 0, then four shades.
std::string_view shade(std::uint64_t value, std::uint64_t most) noexcept;

}  // namespace h2server::app
