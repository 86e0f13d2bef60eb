// Makes a certificate for trying things out: self-signed, ECDSA P-256.
#pragma once

#include <string>

#include "h2server/result.h"

namespace h2server::net {

// Writes a new key (mode 0600) and a certificate for localhost, 127.0.0.1, ::1 and this machine's
// name, valid for 398 days, the longest that browsers take; makes their folders. Both files or
// none: each is complete when it gets its name. Replaces neither if it exists, unless both do,
// which another server has made meanwhile. The error is a line for the operator.
Result<void, std::string> make_self_signed(const std::string& certificate_file,
                                           const std::string& key_file);

// For a key without a certificate: where make_self_signed() was killed between the two, puts the
// certificate in its place. Returns false if there is none that belongs to the key.
bool finish_self_signed(const std::string& certificate_file, const std::string& key_file);

}  // namespace h2server::net
