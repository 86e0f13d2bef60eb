#include "app/program_text.h"

#include <CLI/CLI.hpp>

#include <algorithm>
#include <array>

namespace h2server::app {

namespace {

constexpr std::array<Command, 4> all_commands{{
    {CommandKind::doctor, "doctor", "", true,
     "Check whether this machine gives a server with these options what it needs"},
    {CommandKind::trust, "trust", "--print|--remove", false,
     "Make this user's local certificate authority trusted here"},
    {CommandKind::completion, "completion", "bash|zsh|fish", false,
     "Print a script that completes options in a shell"},
    {CommandKind::man, "man", "", false, "Print the manual page"},
}};

// Returns the values that an option accepts, if it has a CLI::IsMember. Help hides the list, but
// the error for a wrong value has it: "x not in {a,b}".
std::vector<std::string> choices_of(CLI::Option& option) {
  std::vector<std::string> choices;
  for (int at = 0;; ++at) {
    const CLI::Validator* validator = nullptr;
    try {
      validator = option.get_validator(at);
    } catch (const CLI::OptionNotFound&) {
      return choices;  // that was the last
    }
    std::string wrong = "\x01";
    const std::string error = (*validator)(wrong);
    constexpr std::string_view start = " not in {";
    const std::size_t begin = error.find(start);
    if (begin == std::string::npos || !error.ends_with('}')) continue;
    const std::size_t first = begin + start.size();
    return CLI::detail::split(error.substr(first, error.size() - first - 1), ',');
  }
}

ValueKind kind_of(const OptionText& text) {
  if (text.value.empty()) return ValueKind::none;
  if (!text.choices.empty()) return ValueKind::choice;
  if (text.value == "DIR") return ValueKind::directory;
  return text.value == "FILE" ? ValueKind::file : ValueKind::other;
}

// CLI11 writes the type and the checks together: "NUM:INT in [0 - 65535]".
void read_type(const std::string& type, OptionText& text) {
  text.value = type.substr(0, type.find(':'));
  constexpr std::string_view start = " in [";
  const std::size_t begin = type.find(start);
  const std::size_t end = type.find(']', begin);
  if (begin == std::string::npos || end == std::string::npos) return;
  text.range = type.substr(begin + start.size(), end - begin - start.size());
}

void add(CLI::Option& option, std::vector<OptionText>& all) {
  OptionText text;
  text.description = option.get_description();
  if (option.get_items_expected_max() > 0) {
    read_type(option.get_type_name(), text);
    text.usual = option.get_default_str();
    text.choices = choices_of(option);
  }
  text.kind = kind_of(text);
  if (option.get_positional()) {
    OptionText positional = text;
    positional.names = {option.get_name(true)};
    positional.positional = true;
    all.push_back(std::move(positional));
  }
  for (const std::string& name : option.get_snames()) text.names.push_back("-" + name);
  for (const std::string& name : option.get_lnames()) text.names.push_back("--" + name);
  if (!text.names.empty()) all.push_back(std::move(text));
}

}  // namespace

std::span<const Command> commands() noexcept { return all_commands; }

const Command* find_command(std::string_view name) noexcept {
  const auto* const found = std::ranges::find(all_commands, name, &Command::name);
  return found != all_commands.end() ? &*found : nullptr;
}

ProgramText describe(CLI::App& app) {
  ProgramText text{.name = app.get_name(),
                   .description = app.get_description(),
                   .footer = app.get_footer(),
                   .options = {}};
  for (CLI::Option* const option : app.get_options({})) {
    if (!option->get_group().empty()) add(*option, text.options);
  }
  return text;
}

}  // namespace h2server::app
