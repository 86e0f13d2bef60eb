// Checks of the parsers of field values. Every parser must accept any text, so each is given every
// value, whatever field it came from.
#pragma once

#include <string_view>

namespace h2server::fuzz {

// Checks dates, preconditions, ranges, priorities, numbers and Content-Disposition.
void check_field_value(std::string_view value);

}  // namespace h2server::fuzz
