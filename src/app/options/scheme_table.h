// What the command line says about schemes.
#pragma once

#include <string>

namespace h2server::app {

// Returns the text of --scheme help.
std::string scheme_table();

}  // namespace h2server::app
