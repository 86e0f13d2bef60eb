// Asks for a passphrase where the program runs on a terminal.
#pragma once

#include <string>

#include "h2server/result.h"

namespace h2server::app {

// One line from the terminal that controls the process, without echo. The error is the reason why
// there is none, a part of a line for the operator. A signal that ends the process does so at once
// and finds the terminal as it was.
Result<std::string, std::string> ask_passphrase(const std::string& key_file);

}  // namespace h2server::app
