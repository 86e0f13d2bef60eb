// The site that the program serves: its routes and middleware.
#pragma once

#include "app/console.h"
#include "app/options.h"
#include "h2server/result.h"
#include "h2server/server.h"

namespace h2server::app {

// Adds all to a server that does not run yet. `console` may be null; otherwise it must outlive the
// server.
Result<void, Stop> add_site(const Options& options, Console* console, Server& server);

}  // namespace h2server::app
