// Certificate and key of the program: found, or made.
#pragma once

#include <string>

#include "app/options.h"
#include "h2server/result.h"

namespace h2server::app {

struct Credentials {
  std::string authority_file = {};  // the certificate of the local authority; empty: it is not used
  bool authority_is_new = false;    // nothing trusts it yet
  std::string fingerprint = {};     // SHA-256 of the certificate; empty without TLS
  // Holds files that only the start needs, because no other place could be written to; empty: there
  // are none. Remove it once the server listens.
  std::string temporary_directory = {};
};

// Fills in where the program keeps a pair of its own, which need not exist; nothing if the user has
// no place for it.
void name_own_credentials(ServerOptions& server);

// Makes certificate and key if the options want that, and fills in where they are.
Result<Credentials, Stop> prepare_credentials(Options& options);

}  // namespace h2server::app
