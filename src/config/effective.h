// The effective configuration as a TOML file: all options with their values, also those that are
// defaults. Reading it makes the same configuration, but for hidden values.
#pragma once

#include <string>

#include "config/configuration.h"

namespace h2server::config {

// Tokens are replaced by "***".
[[nodiscard]] std::string effective_toml(const Configuration& configuration);

}  // namespace h2server::config
