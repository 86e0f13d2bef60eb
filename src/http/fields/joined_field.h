// Joins the lines of a field.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "h2server/message.h"
#include "http/fields/syntax.h"

namespace h2server::http {

// Returns the values of all lines with that name, joined by commas (RFC 9110, 5.2); nullopt if
// there is none.
inline std::optional<std::string> joined_field(const Fields& fields, std::string_view name) {
  std::optional<std::string> value;
  for (const Field& field : fields) {
    if (!equals_ignoring_case(field.name, name)) continue;
    if (value) {
      value->append(", ").append(field.value);
    } else {
      value.emplace(field.value);
    }
  }
  return value;
}

}  // namespace h2server::http
