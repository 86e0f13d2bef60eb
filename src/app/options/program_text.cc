#include "app/options/program_text.h"

#include <algorithm>
#include <array>

namespace h2server::app {

namespace {

constexpr std::array<Command, 10> all_commands{{
    {CommandKind::doctor, "doctor", "", true,
     "Check whether this machine gives a server with these options what it needs"},
    {CommandKind::check, "check", "", true,
     "Check the options and the configuration file, without serving"},
    {CommandKind::config, "config", "--effective|--limits|--reference", true,
     "Print the configuration with all defaults, or the reference of the options"},
    {CommandKind::top, "top", "", false,
     "Show live what a server does; takes --admin ADDRESS:PORT or unix:PATH"},
    {CommandKind::put, "put", "", false, "Upload files: h2server put FILE... URL"},
    {CommandKind::link, "link", "", false,
     "Print a link that expires; takes --expires TIME, --upload and a path"},
    {CommandKind::upgrade, "upgrade", "", false,
     "Replace a running server by the program at its path; takes its --pid-file"},
    {CommandKind::trust, "trust", "--print|--remove", false,
     "Make this user's local certificate authority trusted here"},
    {CommandKind::completion, "completion", "bash|zsh|fish", false,
     "Print a script that completes options in a shell"},
    {CommandKind::man, "man", "", false, "Print the manual page"},
}};

}  // namespace

std::span<const Command> commands() noexcept { return all_commands; }

const Command* find_command(std::string_view name) noexcept {
  const auto* const found = std::ranges::find(all_commands, name, &Command::name);
  return found != all_commands.end() ? &*found : nullptr;
}

ValueKind kind_of(const OptionText& option) noexcept {
  if (option.value.empty()) return ValueKind::none;
  if (!option.choices.empty()) return ValueKind::choice;
  if (option.value == "DIR") return ValueKind::directory;
  return option.value == "FILE" ? ValueKind::file : ValueKind::other;
}

}  // namespace h2server::app
