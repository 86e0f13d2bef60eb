// Loads a server's certificate and key from PEM files.
#pragma once

#include <string>

#include "h2server/result.h"
#include "net/tls_context.h"

namespace h2server::net {

// Loads the chain of `certificate_file` and the key of `key_file` into `context`. The key must
// belong to the first certificate. The error is a line for the operator.
Result<void, std::string> load_credentials(ssl_ctx_st* context, const std::string& certificate_file,
                                           const std::string& key_file,
                                           const TlsContext::Passphrase& passphrase);

// Returns a line for the operator if the certificate of `context`, read from `certificate_file`, is
// not valid now; else an empty string.
std::string validity_warning(const ssl_ctx_st* context, const std::string& certificate_file);

}  // namespace h2server::net
