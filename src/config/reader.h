// Reads configuration files: TOML, whose keys are those of the table of options.
//
// At the top stand the options of the program, and defaults for all sites and listeners; [[site]]
// and [[listener]] begin one each. `include` names other files, relative to the file that it stands
// in; what they say counts as if it stood in that file, so a key stands in one of them only.
// All other paths are relative to the working directory, as on the command line.
#pragma once

#include <string>

#include "config/environment.h"
#include "config/settings.h"

namespace h2server::config {

// Reads the file and those that it includes. What is wrong becomes problems; the rest is returned.
[[nodiscard]] Settings read_file(const std::string& path, Problems& problems,
                                 const Environment& environment = process_environment);

}  // namespace h2server::config
