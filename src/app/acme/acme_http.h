// How ACME reaches its authority: HTTPS by HttpClient.
#pragma once

#include <string>

#include "app/acme/acme.h"

namespace h2server::app {

// `ca_file`: PEM, who signs the authority's own certificate; empty: whom the system trusts.
AcmeClient make_acme_client(std::string ca_file);

}  // namespace h2server::app
