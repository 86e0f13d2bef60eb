// Text of others for people to read: in a log, on a terminal, on a page. Pure functions, any
// thread.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace h2server::base {

// Both return `text` with "%1B" and the like for each byte of what a reader would not see as it is:
// control characters (also U+0080 to U+009F, which terminals obey), separators of lines, marks that
// change the direction of text (a name could pretend to another extension), and what is not UTF-8.
std::string harmless_text(std::string_view text);
// Returns the code of a character of several bytes, valid UTF-8, if it is harmful, and 0 otherwise.
char16_t harmful_code(std::string_view character) noexcept;
// Without an allocation: `text` itself, or a copy in `room`, cut where that ends.
std::string_view harmless_text(std::string_view text, std::span<char> room) noexcept;

}  // namespace h2server::base
