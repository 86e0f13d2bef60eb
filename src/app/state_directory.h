// Where the program keeps what it made for its user: certificates and keys.
#pragma once

#include <string>

#include "h2server/result.h"

namespace h2server::app {

// Returns the user's home: HOME, otherwise what the system's list of users says; empty if neither
// names an absolute path.
std::string home_directory();

// Returns $XDG_STATE_HOME/h2server or ~/.local/state/h2server (XDG Base Directory Specification),
// which is made with mode 0700 if missing. The error is a line for the operator.
Result<std::string, std::string> state_directory();

}  // namespace h2server::app
