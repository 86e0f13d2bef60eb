// The command line and the configuration file.
#pragma once

#include <cstdint>
#include <string>

#include "app/options/program_text.h"
#include "app/system/stop.h"
#include "config/configuration.h"
#include "h2server/result.h"

namespace h2server::app {

// Describes the options, for completion scripts and the manual page.
ProgramText program_text();

enum class Places : std::uint8_t {
  must_fit,  // the roots exist; neither uploads nor secrets would be served with them
  as_given,  // not looked at
};

// The error is the reason to stop: help, version, or invalid values (status 2).
Result<config::Configuration, Stop> parse_options(int argc, char** argv,
                                                  Places places = Places::must_fit);

// The same for a configuration whose places have changed: must they fit still?
Result<void, Stop> check_places_again(const config::Configuration& configuration);

// The error that a root and an upload directory lie one in the other.
Stop overlapping(const std::string& root, const std::string& upload_directory);

// Returns true if `file` lies below `directory`, so that serving `directory` would expose it.
bool lies_below(const std::string& file, const std::string& directory);

}  // namespace h2server::app
