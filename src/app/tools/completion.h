// Scripts by which shells complete the command line.
#pragma once

#include <string>
#include <string_view>

#include "app/options/program_text.h"
#include "h2server/result.h"

namespace h2server::app {

// Returns the script for "bash", "zsh" or "fish". The error is a line for the operator.
Result<std::string, std::string> completion_script(const ProgramText& program,
                                                   std::string_view shell);

}  // namespace h2server::app
