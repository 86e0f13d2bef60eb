#include "config/effective.h"

#include <fmt/format.h>

#include <string_view>
#include <vector>

#include "config/environment.h"
#include "config/option_table.h"

namespace h2server::config {

namespace {

// A basic string of TOML, in which no variable is replaced.
std::string toml_string(std::string_view text) {
  std::string result = "\"";
  for (const char c : escape_variables(text)) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') result += fmt::format("\\{}", c);
    else if (byte < 0x20 || byte == 0x7F) result += fmt::format("\\u{:04X}", byte);
    else result += c;
  }
  return result + "\"";
}

std::string written(const Option& option, std::string_view value) {
  switch (option.type) {
    case ValueType::flag:
    case ValueType::toggle:
    case ValueType::number:
    case ValueType::ratio:
      return std::string(value);
    case ValueType::size:
    case ValueType::duration:
    case ValueType::choice:
    case ValueType::text:
    case ValueType::file:
    case ValueType::directory:
      break;
  }
  return toml_string(value);
}

std::string list_of(const Option& option, const std::vector<std::string>& values) {
  if (values.size() == 1) return fmt::format("[{}]", written(option, values.front()));
  std::string list = "[\n";
  for (const std::string& value : values) list += fmt::format("  {},\n", written(option, value));
  return list + "]";
}

std::string lines_of(Scope scope, const Target& target) {
  std::string lines;
  for (const Option& option : options()) {
    if (option.scope != scope || !option.in_file) continue;
    const std::vector<std::string> values = option.get(target);
    if (values.empty()) continue;
    if (option.repeatable) {
      lines += fmt::format("{} = {}\n", option.key, list_of(option, values));
      continue;
    }
    const std::string& value = values.front();
    const std::string shown = option.secret ? "***" : public_value(option, value);
    lines += fmt::format("{} = {}{}\n", option.key, written(option, shown),
                         option.secret ? "  # hidden" : "");
  }
  return lines;
}

}  // namespace

std::string effective_toml(const Configuration& configuration) {
  Configuration program = configuration;  // a target is not constant
  Site no_site;
  Listener no_listener;
  std::string text = "# The effective configuration, with the defaults of what was not given.\n";
  text += lines_of(Scope::program, {program, no_site, no_listener});
  // A port that was not given is left out, so that the next free one may take its place.
  if (!program.port_given) {
    Listener& listener = program.listeners.front();
    if (!listener.host.empty()) text += fmt::format("host = {}\n", toml_string(listener.host));
    text += fmt::format("h2c = {}\n", listener.cleartext);
  } else {
    for (Listener& listener : program.listeners) {
      text += "\n[[listener]]\n" + lines_of(Scope::listener, {program, no_site, listener});
    }
  }
  for (Site& site : program.sites) {
    text += "\n[[site]]\n" + lines_of(Scope::site, {program, site, no_listener});
  }
  return text;
}

}  // namespace h2server::config
