// The subcommand `h2server top`: shows in the terminal what the status page shows in the browser.
#pragma once

#include <string>
#include <vector>

#include "h2server/result.h"

namespace h2server::app {

struct TopOptions {
  std::string admin = "127.0.0.1:9000";  // or "unix:PATH"
  std::string token = {};                // what the admin listener wants as Bearer; empty: none
  bool once = false;                     // print it and end, as without a terminal
  bool help = false;
};

// `arguments` without the command's name. The error says what is wrong with them.
Result<TopOptions, std::string> parse_top_options(const std::vector<std::string>& arguments);

// Runs the subcommand; argv[0] is its name. Returns the exit status: 0, 1 if the admin listener
// can't be reached at the start, 2 for wrong arguments.
int top(int argc, char** argv);

}  // namespace h2server::app
