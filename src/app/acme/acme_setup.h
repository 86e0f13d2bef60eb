// What the configuration says about ACME, for its parts: the files of sites, the options of Acme,
// and the answers to http-01.
#pragma once

#include <functional>
#include <optional>

#include "app/acme/acme.h"
#include "app/acme/acme_challenges.h"
#include "app/acme/acme_store.h"
#include "config/configuration.h"
#include "h2server/middleware.h"
#include "h2server/result.h"

namespace h2server::app {

// Returns the pair of a site with `acme`, which exists afterwards: the one that was issued, also to
// another server that shares its certificates, or a temporary one. May wait for the store of
// acme-store. The error is a line for the operator.
Result<AcmeFiles, std::string> prepare_acme_site(const config::Configuration& configuration,
                                                 const config::Site& site);

// Returns nullopt if no site has `acme`, or there is no state directory. `changed` is called on
// Acme's thread. The store that it shares is not opened yet, see open_sharing().
std::optional<AcmeOptions> acme_options(const config::Configuration& configuration,
                                        std::function<void()> changed);

// Opens the store of acme-store, if there is one. The error is a part of a line for the operator.
Result<AcmeSharing, std::string> open_sharing(const config::Configuration& configuration);

// Answers the authority's requests for /.well-known/acme-challenge (RFC 8555, 8.3), which come
// without TLS. Leaves others to whom they are for. The challenges outlive the server.
Middleware acme_answers(const AcmeChallenges& challenges);

}  // namespace h2server::app
