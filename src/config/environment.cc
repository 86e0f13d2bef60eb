#include "config/environment.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdlib>

#include "base/text/text.h"

namespace h2server::config {

namespace {

bool is_name(std::string_view name) {
  return !name.empty() && !base::is_digit(name.front()) &&
         std::ranges::all_of(name, [](char c) { return base::is_alphanumeric(c) || c == '_'; });
}

// `inner` stands between the braces.
Result<std::string, std::string> value_of(std::string_view inner, const Environment& environment) {
  const std::size_t colon = std::min(inner.find(":-"), inner.size());
  const std::string name(inner.substr(0, colon));
  if (!is_name(name)) {
    return std::unexpected(
        fmt::format("${{{}}} names no variable; write $${{ for a text with \"${{\"", inner));
  }
  std::optional<std::string> value = environment(name);
  if (colon == inner.size()) {
    if (value) return *std::move(value);
    return std::unexpected(fmt::format(
        "the environment has no variable {0}; set it, or write ${{{0}:-DEFAULT}}", name));
  }
  if (value && !value->empty()) return *std::move(value);
  return std::string(inner.substr(colon + 2));
}

}  // namespace

std::optional<std::string> process_environment(const std::string& name) {
  const char* const value = std::getenv(name.c_str());
  return value != nullptr ? std::optional<std::string>(value) : std::nullopt;
}

Result<std::string, std::string> expand(std::string_view text, const Environment& environment) {
  std::string result;
  for (std::size_t i = 0; i < text.size();) {
    const std::string_view rest = text.substr(i);
    if (rest.starts_with("$${")) {
      result += "${";
      i += 3;
    } else if (rest.starts_with("${")) {
      const std::size_t end = rest.find('}');
      if (end == std::string_view::npos) {
        return std::unexpected("\"${\" without \"}\"; write $${ for a text with \"${\"");
      }
      Result<std::string, std::string> value = value_of(rest.substr(2, end - 2), environment);
      if (!value) return value;
      result += *value;
      i += end + 1;
    } else {
      result += rest.front();
      ++i;
    }
  }
  return result;
}

std::string escape_variables(std::string_view text) {
  std::string result;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text.substr(i).starts_with("${")) result += '$';
    result += text[i];
  }
  return result;
}

}  // namespace h2server::config
