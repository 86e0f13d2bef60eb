// Limits of a TOML text, checked before it is parsed: the parser and the destructors of its tables
// call themselves for each level, so a text of a megabyte could overflow the stack.
//
// Pure functions, any thread.
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>

#include "config/toml_text.h"

namespace h2server::config {

// No key of a configuration has dots, and its arrays have no arrays in them.
inline constexpr std::size_t key_dots_max = 16;
inline constexpr std::size_t nesting_max = 16;  // of arrays and tables within values

// Returns the first place where the text goes beyond them. Skips comments and strings; of text
// that is no TOML, looks at least as far as a parser gets.
[[nodiscard]] std::optional<TomlProblem> find_excess(std::string_view text);

}  // namespace h2server::config
