// ConditionalFields: the fields of a request that select a part of a representation, or none of it.
#pragma once

#include <optional>
#include <string_view>

#include "h2server/message.h"
#include "http/fields/conditional.h"

namespace h2server::http {

// Views into the request's fields.
struct ConditionalFields {
  Preconditions preconditions;
  std::optional<std::string_view> range;
  bool lists_go_on = false;  // If-Match or If-None-Match has several lines; only the first is kept
};

// Returns true if one of them is there. Most requests have none.
bool has_conditional_fields(const Fields& fields) noexcept;

// RFC 9110, 5.3: several lines of a list field form one list. Any other field must not be repeated;
// a repeated one is treated as empty: dates (13.1.3, 13.1.4) and Range (14.2) are ignored, and
// If-Range does not match.
ConditionalFields find_conditional_fields(const Fields& fields);

// As evaluate() of http/fields/conditional.h, for all lines of the request. `fields` are those of
// `head`.
PreconditionResult evaluate(const RequestHead& head, const ConditionalFields& fields,
                            const Validators& validators);

}  // namespace h2server::http
