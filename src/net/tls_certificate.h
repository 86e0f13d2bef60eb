// Makes a certificate for trying things out: self-signed, ECDSA P-256.
#pragma once

#include <string>

#include "h2server/result.h"

namespace h2server::net {

// Writes a new key (mode 0600) and a certificate for localhost, 127.0.0.1, ::1 and this machine's
// name, valid for 398 days, the longest that browsers take; makes their folders. Replaces neither
// file if it exists. The error is a line for the operator.
Result<void, std::string> make_self_signed(const std::string& certificate_file,
                                           const std::string& key_file);

}  // namespace h2server::net
