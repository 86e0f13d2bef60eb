// The subcommand `h2server trust`: makes this machine and its browsers trust the local CA.
#pragma once

#include <string>

#include "h2server/result.h"

namespace h2server::app {

// Returns the directory of the local CA in the state directory. Touches no file.
Result<std::string, std::string> authority_directory();

// As authority_directory(), and makes the state directory.
Result<std::string, std::string> prepare_authority_directory();

// Runs the subcommand; argv[0] is its name. Returns the exit status: 0 if everything is as was
// asked for, 1 if a step failed, 2 for wrong arguments.
int trust(int argc, char** argv);

}  // namespace h2server::app
