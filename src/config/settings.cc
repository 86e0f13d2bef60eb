#include "config/settings.h"

#include <fmt/format.h>

#include <cstddef>

namespace h2server::config {

namespace {

// Returns the value as it is shown, on one line and not too long.
std::string shown(std::string_view value, bool quotes) {
  constexpr std::size_t bytes_max = 80;
  std::string text;
  for (const char c : value.substr(0, bytes_max)) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x20 || byte == 0x7F) text += fmt::format("\\x{:02x}", byte);
    else text += c;
  }
  if (value.size() > bytes_max) text += "…";
  return quotes ? fmt::format("\"{}\"", text) : text;
}

// Numbers and switches are written without quotes, and so are shown without.
bool takes_quotes(std::string_view value) {
  if (value == "true" || value == "false") return false;
  return value.empty() || value.find_first_not_of("-+.0123456789") != value.npos;
}

}  // namespace

std::string describe(const Assignment& assignment, std::string_view value) {
  const Option& option = *assignment.option;
  const std::string text = public_value(option, value);
  if (assignment.place.file.empty()) {
    if (option.secret) return fmt::format("--{}", option.key);
    return text.empty() ? fmt::format("--{} \"\"", option.key)
                        : fmt::format("--{} {}", option.key, shown(text, false));
  }
  if (option.secret) return std::string(option.key);
  return fmt::format("{} = {}", option.key, shown(text, takes_quotes(text)));
}

void apply(const Assignment& assignment, Target target, Problems& problems) {
  const Option& option = *assignment.option;
  for (const std::string& value : assignment.values) {
    const Read<void> done = option.set(target, value);
    if (!done) {
      problems.add(assignment.place,
                   fmt::format("{}: {}", describe(assignment, value), done.error()), option.key);
    }
    target.again = true;
  }
}

}  // namespace h2server::config
