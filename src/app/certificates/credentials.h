// Certificate and key of the program: found, or made.
#pragma once

#include <string>

#include "app/options/options.h"
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

struct CertificatePair {
  std::string certificate_file = {};
  std::string key_file = {};
};

// Returns where the program keeps a pair of its own, which need not exist; empty names if the user
// has no place for it.
CertificatePair own_pair();

// Makes the certificates and keys that the sites want, and fills in `server` with where they are.
Result<Credentials, Stop> prepare_credentials(config::Configuration& configuration);

}  // namespace h2server::app
