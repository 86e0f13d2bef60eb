// Selects the fields that are allowed as trailer fields (RFC 9110, 6.5), in requests and responses
// of every version.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "base/memory/arena.h"
#include "h2server/message.h"

namespace h2server::http {

// Returns true if the field is allowed as a trailer field (RFC 9110, 6.5.1). Not allowed are fields
// that frame or route the message, authenticate, modify the request, control the response or
// describe the content, and those of the connection (7.6.1). `name` is in lower case.
bool may_trail(std::string_view name) noexcept;

// Appends the well-formed and allowed fields of `given` to `fields`, with names in lower case. The
// views point into `given` and the arena.
void trailer_fields(std::span<const Field> given, base::Arena& arena, std::vector<Field>& fields);

}  // namespace h2server::http
