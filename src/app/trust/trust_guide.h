// How to trust an authority by hand, for each system.
#pragma once

#include <string>

namespace h2server::app {

// `name` is the authority's common name, `file` its certificate.
std::string trust_guide(const std::string& name, const std::string& file);

}  // namespace h2server::app
