// What a configuration serves, compared with what is on the disk: roots exist, and nothing that
// must stay secret is served.
#pragma once

#include "config/configuration.h"
#include "config/problems.h"

namespace h2server::app {

// At most one problem for each site. Takes time proportional to the number of sites.
void check_places(const config::Configuration& configuration, config::Problems& problems);

}  // namespace h2server::app
