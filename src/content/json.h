// JSON text (RFC 8259).
#pragma once

#include <string>
#include <string_view>

namespace h2server::content {

// `text`, which is UTF-8, as a JSON string with its quotes.
std::string json_string(std::string_view text);

}  // namespace h2server::content
