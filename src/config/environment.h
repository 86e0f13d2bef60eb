// Variables of the environment in the strings of a configuration file.
//
//   ${NAME}            the variable; an error if it is not set
//   ${NAME:-default}   the default if the variable is not set or empty
//   $${                the two characters "${"
//
// A '$' before anything else stands for itself, as in the "$1" of a rewrite.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "h2server/result.h"

namespace h2server::config {

using Environment = std::function<std::optional<std::string>(const std::string& name)>;

// Reads the process's environment. No other thread may change that meanwhile.
[[nodiscard]] std::optional<std::string> process_environment(const std::string& name);

// The error says what is wrong. Values are not looked at again, so no variable can name another.
[[nodiscard]] Result<std::string, std::string> expand(std::string_view text,
                                                      const Environment& environment);

// Returns a text that expand() turns into `text`.
[[nodiscard]] std::string escape_variables(std::string_view text);

}  // namespace h2server::config
