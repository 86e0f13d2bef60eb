#include "app/system/terminal.h"

#include <cstdlib>

namespace h2server::app {

std::string_view variable(const char* name) {
  const char* const value = std::getenv(name);
  return value != nullptr ? value : "";
}

bool shows_colour() {
  const std::string_view terminal = variable("TERM");
  return variable("NO_COLOR").empty() && !terminal.empty() && terminal != "dumb";
}

}  // namespace h2server::app
