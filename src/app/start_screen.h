// The text on standard output once the server listens.
#pragma once

#include <string>

#include "app/options.h"
#include "h2server/server.h"

namespace h2server::app {

// URLs come first, and those for this machine before those for others.
std::string start_screen(const Options& options, const Server& server);

}  // namespace h2server::app
