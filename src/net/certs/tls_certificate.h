// Makes a self-signed certificate (ECDSA P-256) for trials.
#pragma once

#include <string>

#include "h2server/result.h"

namespace h2server::net {

// Writes a new key (mode 0600) and a certificate for localhost, 127.0.0.1, ::1 and this machine's
// name, valid for 398 days, the longest that browsers accept. Makes their folders. Writes both
// files or neither; each is complete when it gets its name. Replaces no file: succeeds if both
// exist, because another server has made them meanwhile, and fails if one exists. The error is a
// line for the operator.
Result<void, std::string> make_self_signed(const std::string& certificate_file,
                                           const std::string& key_file);

// Call for a key without a certificate. If make_self_signed() was killed between the two, gives the
// certificate its name. Returns true if the certificate is in place; false if there is none that
// belongs to the key, or it can't be renamed.
bool finish_self_signed(const std::string& certificate_file, const std::string& key_file);

}  // namespace h2server::net
