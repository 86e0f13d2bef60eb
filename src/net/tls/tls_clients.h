// Asks clients for certificates, and verifies them.
#pragma once

#include <string>

#include "h2server/result.h"

struct ssl_ctx_st;

namespace h2server::net {

struct TlsClients {
  std::string ca_file;    // PEM: the authorities that sign the clients' certificates
  bool required = false;  // a client without a certificate is refused
};

// A client with a certificate that does not verify is refused in any case. A resumed session keeps
// its certificate, and is not resumed once that has expired. The error is a line for the operator.
Result<void, std::string> ask_for_certificates(ssl_ctx_st* context, const TlsClients& clients);

}  // namespace h2server::net
