// The reference of the options, for the manual.
#pragma once

#include <string>

namespace h2server::config {

// Returns a page in Markdown, made of the table of options.
[[nodiscard]] std::string reference_markdown();

}  // namespace h2server::config
