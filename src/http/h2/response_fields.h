// The field section of a response for HTTP/2 (RFC 9113, 8.3.2).
#pragma once

#include <string_view>
#include <vector>

#include "base/arena.h"
#include "h2server/message.h"
#include "h2server/response.h"

namespace h2server::http::h2 {

// Fills `fields`, ":status" first, names in lower case, without the fields that belong to a
// connection (RFC 9113, 8.2.2). The views point into the response, the arena and `date`.
void response_fields(const Response& response, std::string_view date, base::Arena& arena,
                     std::vector<Field>& fields);

}  // namespace h2server::http::h2
