// The manual page, made of the program's options.
#pragma once

#include <string>

#include "app/options/program_text.h"

namespace h2server::app {

// Returns the page in roff, with the macros of man(7).
std::string man_page(const ProgramText& program);

}  // namespace h2server::app
