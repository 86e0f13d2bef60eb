// Trailer fields (RFC 9110, 6.5): which fields may be some. The same for requests and responses of
// every version.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "base/arena.h"
#include "h2server/message.h"

namespace h2server::http {

// Returns true if a field keeps its meaning behind the content (RFC 9110, 6.5.1). Those that frame
// or route the message, authenticate, modify the request, control the response or say what the
// content is do not, nor do those of the connection (7.6.1). `name` is in lower case.
bool may_trail(std::string_view name) noexcept;

// Appends to `fields` those of `given` that may be trailer fields and are well-formed, with names
// in lower case. The views point into `given` and the arena.
void trailer_fields(std::span<const Field> given, base::Arena& arena, std::vector<Field>& fields);

}  // namespace h2server::http
