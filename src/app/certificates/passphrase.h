// Asks for a passphrase on the terminal.
#pragma once

#include <string>

#include "h2server/result.h"

namespace h2server::app {

// Reads one line from the controlling terminal, without echo. SIGINT, SIGTERM, SIGHUP and SIGQUIT
// take effect at once; the terminal is restored first. The error is a part of a line for the
// operator.
Result<std::string, std::string> ask_passphrase(const std::string& key_file);

}  // namespace h2server::app
