#include "app/config_commands.h"

#include <fmt/format.h>

#include <cstddef>
#include <string>
#include <string_view>

#include "app/doctor/doctor_text.h"
#include "app/options/options.h"
#include "app/start_checks.h"
#include "app/tools/memory_limits.h"
#include "config/effective.h"
#include "config/problems.h"
#include "config/reference.h"

namespace h2server::app {

int run_check(int argc, char** argv) {
  const Result<config::Configuration, Stop> configuration = parse_options(argc, argv);
  if (!configuration) return report(configuration.error());
  config::Problems problems;
  check_start(*configuration, problems);
  if (!problems.none()) return report({exit_wrong_use, problems.text()});
  return report({0, fmt::format("ok: {}, {}\n", counted(configuration->sites.size(), "site"),
                                counted(configuration->listeners.size(), "listener"))});
}

int run_config(int argc, char** argv) {
  const std::string_view what = argc > 1 ? argv[1] : "";
  if (what == "--reference" && argc == 2) return report({0, config::reference_markdown()});
  if (what != "--effective" && what != "--limits") {
    return report({exit_wrong_use,
                   "say what to print: h2server config --effective or --limits, with the options "
                   "of the server, or h2server config --reference"});
  }
  const Result<config::Configuration, Stop> configuration = parse_options(argc - 1, argv + 1);
  if (!configuration) return report(configuration.error());
  return report({0, what == "--limits" ? memory_limits_text(*configuration)
                                       : config::effective_toml(*configuration)});
}

}  // namespace h2server::app
