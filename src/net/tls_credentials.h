// A server's certificate and key, from PEM files.
#pragma once

#include <string>

#include "h2server/result.h"
#include "net/tls_context.h"

namespace h2server::net {

// Gives `context` the chain of `certificate_file` and the key of `key_file`, which is that of its
// first certificate. The error is a line for the operator.
Result<void, std::string> load_credentials(ssl_ctx_st* context, const std::string& certificate_file,
                                           const std::string& key_file,
                                           const TlsContext::Passphrase& passphrase);

// When the certificate of `context`, read from `certificate_file`, is not valid today: a line for
// the operator. Else empty.
std::string validity_warning(const ssl_ctx_st* context, const std::string& certificate_file);

// Returns true if the file's first certificate has expired.
bool has_expired(const std::string& certificate_file);

}  // namespace h2server::net
