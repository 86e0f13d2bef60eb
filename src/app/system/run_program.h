// Runs other programs, with a vector of arguments and without a shell.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "h2server/result.h"

namespace h2server::app {

// Returns the path of a program in PATH, or in the directories for administrators, which the PATH
// of other users often lacks.
std::optional<std::string> find_program(const std::string& name);

enum class Output {
  shown,   // standard output and standard error are those of this process
  hidden,  // they go to /dev/null
};

// Runs the program arguments[0], a path, without standard input, and waits for its end. Returns its
// exit status, 128 plus the number if a signal ended it. The error is an errno value: it could not
// be started.
Result<int, int> run_program(const std::vector<std::string>& arguments, Output output);

// Returns the command as a user would type it.
std::string command_line(const std::vector<std::string>& arguments);

}  // namespace h2server::app
