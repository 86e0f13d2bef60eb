// The sites that the program serves: their routes and middleware.
#pragma once

#include <vector>

#include "app/acme/acme_challenges.h"
#include "app/client/stores.h"
#include "app/console.h"
#include "app/options/options.h"
#include "app/uploads/upload_hooks.h"
#include "app/uploads/upload_tokens.h"
#include "h2server/result.h"
#include "h2server/server.h"

namespace h2server::app {

// What sites are added with. All must outlive the server.
struct SiteParts {
  const config::Configuration& configuration;
  Console* console;  // may be null
  UploadHooks& hooks;
  Stores& stores;
  const std::vector<ShownToken>& run_tokens;  // made before
  const AcmeChallenges& acme_challenges;
};

// Adds all to a server that does not run yet. Returns the tokens that nobody knows yet, and those
// of the run.
Result<std::vector<ShownToken>, Stop> add_sites(const SiteParts& parts, Server& server);

}  // namespace h2server::app
