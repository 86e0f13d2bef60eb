// Settings: the values that the command line and the configuration file give, not yet put together.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "config/option_table.h"
#include "config/problems.h"

namespace h2server::config {

// An option with its values, where they stand and how they were written.
struct Assignment {
  const Option* option = nullptr;
  std::vector<std::string> values;  // of a flag, "true" or "false"
  Place place;
};

// Those of one section: each option at most once.
using Assignments = std::vector<Assignment>;

struct Table {
  Assignments own;
  Place place;
};

// What files say.
struct Settings {
  std::string file;                    // the first one, or empty
  std::vector<std::string> all_files;  // that one and those that are included
  Assignments top;
  std::vector<Table> sites;
  std::vector<Table> listeners;
};

// "--port 80" or "port = 80", as messages name a value; without it if it is secret.
[[nodiscard]] std::string describe(const Assignment& assignment, std::string_view value);

// Reads the values into the target. Wrong ones become problems.
void apply(const Assignment& assignment, Target target, Problems& problems);

}  // namespace h2server::config
