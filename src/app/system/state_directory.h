// The directory for what the program keeps between its runs (XDG Base Directory Specification).
#pragma once

#include <string>

#include "h2server/result.h"

namespace h2server::app {

// Returns $XDG_STATE_HOME/h2server if that variable is an absolute path, else
// HOME/.local/state/h2server, where HOME is the variable or, without it, the home of the user's
// entry in passwd. Touches no file. The error, a line for the operator, is that there is no home,
// as for a service.
Result<std::string, std::string> state_directory_name();

// As state_directory_name(), and makes the directory (0700).
Result<std::string, std::string> state_directory();

// Returns the user's home, or an empty string if there is none.
std::string home_directory();

}  // namespace h2server::app
