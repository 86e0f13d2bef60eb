// Makes the configuration of what the command line and the files give.
//
// The command line replaces the values at the top of a file. The values at the top are defaults: a
// [[site]] or [[listener]] that has an option itself replaces all of the default's values.
#pragma once

#include "config/configuration.h"
#include "config/settings.h"

namespace h2server::config {

// What is wrong becomes problems; then the result must not be used. Opens nothing.
[[nodiscard]] Configuration assemble(const Assignments& command_line, const Settings& file,
                                     Problems& problems);

}  // namespace h2server::config
