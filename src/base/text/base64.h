// Base64 (RFC 4648, 4). Pure functions, any thread.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace h2server::base {

// With padding, without line ends.
std::string encode_base64(std::string_view bytes);

// Returns nullopt for everything that encode_base64() does not return: other characters, missing
// padding, padding bits other than zero (RFC 4648, 3.5).
std::optional<std::string> decode_base64(std::string_view text);

}  // namespace h2server::base
