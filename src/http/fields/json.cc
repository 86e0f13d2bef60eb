#include "h2server/json.h"

#include <fmt/format.h>

#include "base/text/utf8.h"

namespace h2server {

std::string json_string(std::string_view text) {
  std::string quoted = "\"";
  for (const char c : base::to_valid_utf8(text)) {
    if (c == '"' || c == '\\') {
      quoted += '\\';
      quoted += c;
    } else if (static_cast<unsigned char>(c) < 0x20) {
      quoted += fmt::format("\\u{:04x}", static_cast<unsigned>(c));
    } else {
      quoted += c;
    }
  }
  quoted += '"';
  return quoted;
}

}  // namespace h2server
