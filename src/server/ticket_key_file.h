// Reads a secret that servers share to resume each other's TLS sessions.
#pragma once

#include <string>

#include "h2server/result.h"

namespace h2server::server {

// Returns the whole content of a file of 32 to 4096 bytes. The error is a line for the operator.
Result<std::string, std::string> read_ticket_key(const std::string& file);

}  // namespace h2server::server
