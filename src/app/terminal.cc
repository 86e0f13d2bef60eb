#include "app/terminal.h"

#include <cstdlib>

#include "base/utf8.h"

namespace h2server::app {

std::string_view variable(const char* name) {
  const char* const value = std::getenv(name);
  return value != nullptr ? value : "";
}

bool shows_colour() {
  const std::string_view terminal = variable("TERM");
  return variable("NO_COLOR").empty() && !terminal.empty() && terminal != "dumb";
}

std::string terminal_text(std::string_view text) {
  std::string clean = base::to_valid_utf8(text);
  for (std::size_t at = 0; at < clean.size(); ++at) {
    const auto byte = static_cast<unsigned char>(clean[at]);
    if (byte < 0x20 || byte == 0x7f) clean[at] = '?';
    // C1 is C2 80 to C2 9F.
    if (byte != 0xc2 || static_cast<unsigned char>(clean[at + 1]) >= 0xa0) continue;
    clean.replace(at, 2, "?");
  }
  return clean;
}

}  // namespace h2server::app
