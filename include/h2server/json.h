// JSON that a handler writes by hand (RFC 8259). For more than a few members, use a JSON library.
#pragma once

#include <string>
#include <string_view>

#pragma GCC visibility push(default)
namespace h2server {

// Returns `text` as a JSON string with its quotes: escapes quotes, backslashes and control
// characters, and replaces what is not UTF-8 by U+FFFD (RFC 8259, 7 and 8.1).
[[nodiscard]] std::string json_string(std::string_view text);

}  // namespace h2server
#pragma GCC visibility pop
