// The parsers of field values. Any text is given to each of them: they check what they are given,
// whatever field it came from.
#pragma once

#include <string_view>

namespace h2server::fuzz {

// Dates, preconditions, ranges, priorities, numbers, Content-Disposition.
void check_field_value(std::string_view value);

}  // namespace h2server::fuzz
