// Why the process ends, and with which status.
#pragma once

#include <string>

namespace h2server::app {

// Exit statuses.
inline constexpr int exit_failed = 1;
inline constexpr int exit_wrong_use = 2;  // an invalid option, a missing file

struct Stop {
  int status = 0;    // exit status
  std::string text;  // for standard output if status is 0, otherwise lines for standard error
};

// Writes the text, and returns the status.
int report(const Stop& reason);

}  // namespace h2server::app
