#include "app/tools/completion.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

namespace h2server::app {

namespace {

// Returns `text` as one word of a shell: in single quotes, inside which only they are special.
std::string shell_word(std::string_view text) {
  std::string word = "'";
  for (const char c : text) word += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return word + "'";
}

// In fish, a backslash escapes in single quotes.
std::string quoted_for_fish(std::string_view text) {
  std::string word = "'";
  for (const char c : text) {
    if (c == '\'' || c == '\\') word += '\\';
    word += c;
  }
  return word + "'";
}

// Puts a backslash before each of the `special` characters.
std::string escaped(std::string_view text, std::string_view special) {
  std::string result;
  for (const char c : text) {
    if (special.find(c) != std::string_view::npos) result += '\\';
    result += c;
  }
  return result;
}

std::string words_of(std::string_view alternatives) {
  std::string words(alternatives);
  std::ranges::replace(words, '|', ' ');
  return words;
}

std::string command_names() {
  std::string names;
  for (const Command& command : commands()) {
    names += fmt::format("{}{}", names.empty() ? "" : " ", command.name);
  }
  return names;
}

// --- bash -------------------------------------------------------------------------------------

std::string bash_reply(const OptionText& option) {
  switch (option.kind) {
    case ValueKind::file:
      return R"(mapfile -t COMPREPLY < <(compgen -f -- "$word"); compopt -o filenames 2>/dev/null)";
    case ValueKind::directory:
      return R"(mapfile -t COMPREPLY < <(compgen -d -- "$word"); compopt -o filenames 2>/dev/null)";
    case ValueKind::choice:
      return fmt::format(R"(mapfile -t COMPREPLY < <(compgen -W {} -- "$word"))",
                         shell_word(fmt::format("{}", fmt::join(option.choices, " "))));
    case ValueKind::none:
    case ValueKind::other:
      break;
  }
  return ":";
}

std::string bash_script(const ProgramText& program) {
  std::string values;
  std::string names;
  for (const OptionText& option : program.options) {
    if (option.positional) continue;
    names += fmt::format("{}{}", names.empty() ? "" : " ", fmt::join(option.names, " "));
    if (option.kind == ValueKind::none) continue;
    values +=
        fmt::format("    {}) {}; return ;;\n", fmt::join(option.names, "|"), bash_reply(option));
  }
  std::string arguments;
  for (const Command& command : commands()) {
    if (command.argument.empty()) continue;
    arguments += fmt::format(
        R"(  if [[ $COMP_CWORD == 2 && ${{COMP_WORDS[1]}} == {} ]]; then
    mapfile -t COMPREPLY < <(compgen -W {} -- "$word")
    return
  fi
)",
        command.name, shell_word(words_of(command.argument)));
  }
  // bash splits --port=80 into three words.
  return fmt::format(R"(# bash completion of {0}; load it with: source <({0} completion bash)
_{0}() {{
  local word=${{COMP_WORDS[COMP_CWORD]}} before=${{COMP_WORDS[COMP_CWORD-1]}} first=
  COMPREPLY=()
  if [[ $word == = ]]; then word=; elif [[ $before == = ]]; then before=${{COMP_WORDS[COMP_CWORD-2]}}; fi
  case $before in
{1}  esac
{2}  if [[ $word == -* ]]; then
    mapfile -t COMPREPLY < <(compgen -W {3} -- "$word")
    return
  fi
  if [[ $COMP_CWORD == 1 ]]; then first={4}; fi
  mapfile -t COMPREPLY < <(compgen -W "$first" -- "$word"; compgen -d -- "$word")
  compopt -o filenames 2>/dev/null
}}
complete -F _{0} {0}
)",
                     program.name, values, arguments, shell_word(names),
                     shell_word(command_names()));
}

// --- zsh --------------------------------------------------------------------------------------

std::string zsh_action(const OptionText& option) {
  switch (option.kind) {
    case ValueKind::file:
      return "_files";
    case ValueKind::directory:
      return "_files -/";
    case ValueKind::choice:
      return fmt::format("({})", fmt::join(option.choices, " "));
    case ValueKind::none:
    case ValueKind::other:
      break;
  }
  return " ";
}

// Arguments of _arguments: (-p --port)--port=[Port to listen on]:NUM:
std::string zsh_specs(const OptionText& option) {
  const std::string value =
      option.kind == ValueKind::none
          ? std::string()
          : fmt::format(":{}:{}", escaped(option.value, ":\\"), zsh_action(option));
  if (option.positional) return fmt::format("    {} \\\n", shell_word(":" + value));
  std::string specs;
  for (const std::string& name : option.names) {
    const char* const form = value.empty() ? "" : name.starts_with("--") ? "=" : "+";
    specs += fmt::format(
        "    {} \\\n", shell_word(fmt::format("({}){}{}[{}]{}", fmt::join(option.names, " "), name,
                                              form, escaped(option.description, "[]\\"), value)));
  }
  return specs;
}

std::string zsh_script(const ProgramText& program) {
  std::string specs;
  for (const OptionText& option : program.options) specs += zsh_specs(option);
  std::string described;
  std::string arguments;
  for (const Command& command : commands()) {
    described += " " + shell_word(fmt::format("{}:{}", command.name, command.description));
    if (command.argument.empty()) continue;
    arguments += fmt::format(
        "  if (( CURRENT == 3 )) && [[ $words[2] == {} ]]; then compadd {}; return; fi\n",
        command.name, words_of(command.argument));
  }
  return fmt::format(R"(#compdef {0}
# zsh completion of {0}; put it into a folder of $fpath as _{0}
_{0}() {{
{1}  if (( CURRENT == 2 )); then
    local -a commands=({2})
    _describe command commands
  fi
  _arguments -s \
{3}    && return 0
}}
if [[ $zsh_eval_context[-1] == loadautofunc ]]; then _{0} "$@"; else compdef _{0} {0}; fi
)",
                     program.name, arguments, described, specs);
}

// --- fish -------------------------------------------------------------------------------------

std::string fish_value(const OptionText& option) {
  switch (option.kind) {
    case ValueKind::none:
      return "";
    case ValueKind::file:
      return " -r -F";
    case ValueKind::directory:
      return " -x -a '(__fish_complete_directories)'";
    case ValueKind::choice:
      return fmt::format(" -x -a {}",
                         quoted_for_fish(fmt::format("{}", fmt::join(option.choices, " "))));
    case ValueKind::other:
      break;
  }
  return " -x";
}

std::string fish_script(const ProgramText& program) {
  std::string text =
      fmt::format("# fish completion of {0}; put it into ~/.config/fish/completions/{0}.fish\n"
                  "complete -c {0} -f\n",
                  program.name);
  for (const OptionText& option : program.options) {
    text += fmt::format("complete -c {}", program.name);
    if (option.positional) {
      text += fmt::format(" -n {}",
                          quoted_for_fish("not __fish_seen_subcommand_from " + command_names()));
    } else {
      for (const std::string& name : option.names) {
        const bool is_long = name.starts_with("--");
        text += fmt::format(" {} {}", is_long ? "-l" : "-s", name.substr(is_long ? 2 : 1));
      }
    }
    text += fmt::format("{} -d {}\n", fish_value(option), quoted_for_fish(option.description));
  }
  for (const Command& command : commands()) {
    text += fmt::format("complete -c {} -n __fish_is_first_token -a {} -d {}\n", program.name,
                        command.name, quoted_for_fish(command.description));
    if (command.argument.empty()) continue;
    text += fmt::format("complete -c {} -n '__fish_seen_subcommand_from {}' -a {}\n", program.name,
                        command.name, quoted_for_fish(words_of(command.argument)));
  }
  return text;
}

}  // namespace

Result<std::string, std::string> completion_script(const ProgramText& program,
                                                   std::string_view shell) {
  if (shell == "bash") return bash_script(program);
  if (shell == "zsh") return zsh_script(program);
  if (shell == "fish") return fish_script(program);
  return std::unexpected(std::string("name a shell: h2server completion bash, zsh or fish"));
}

}  // namespace h2server::app
