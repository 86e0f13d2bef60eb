// What the program's help knows about itself, as data: its commands and its options. Completion
// scripts and the manual page are made of it, so no option is listed twice.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace h2server::app {

enum class CommandKind : std::uint8_t {
  doctor,
  check,
  config,
  top,
  put,
  link,
  upgrade,
  trust,
  completion,
  man,
};

// A first argument that makes the program do something else than serve.
struct Command {
  CommandKind kind;
  std::string_view name;
  std::string_view argument;     // the words of which one follows, such as "bash|zsh"; may be empty
  bool takes_options = false;    // those of the server
  std::string_view description;  // a sentence without its full stop
};

std::span<const Command> commands() noexcept;

// Returns null if there is none of that name.
const Command* find_command(std::string_view name) noexcept;

enum class ValueKind : std::uint8_t { none, file, directory, choice, other };

struct OptionText {
  std::vector<std::string> names = {};  // "-p", "--port"; of a positional, "root"
  bool positional = false;              // named options may be positional, too: then there are two
  ValueKind kind = ValueKind::none;     // none: a flag
  std::string value = {};               // "NUM"; empty for a flag
  std::string range = {};               // "0 - 65535", or empty
  std::string usual = {};               // the default, or empty
  std::vector<std::string> choices = {};  // only of ValueKind::choice
  std::string description = {};
};

struct ProgramText {
  std::string name;
  std::string description;
  std::string footer;
  std::vector<OptionText> options;  // in the order of --help
};

// Returns the kind that follows from the word for the value and from the choices.
ValueKind kind_of(const OptionText& option) noexcept;

}  // namespace h2server::app
