#include "config/reference.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <string_view>
#include <vector>

#include "config/option_table.h"

namespace h2server::config {

namespace {

constexpr std::string_view introduction = R"(# Options

This page is made of the program's table of options: `h2server config --reference` prints it.

Each option has the same name on the command line and in a [configuration file](configuration.md): `--upload-max 2GiB`
is `upload-max = "2GiB"`. The column *where* says where an option may stand:

| where | |
|---|---|
| command line | as `--NAME`, or by its letter |
| top | in a file, before all tables |
| `[[site]]` | in a file, for one site; at the top, it is the default of all sites |
| `[[listener]]` | in a file, for one listener; at the top, it is the default of all listeners |

Flags have no value on the command line, and `true` or `false` in a file. An option that is marked with *…* may be given
several times on the command line, and has a list in a file. Sizes are bytes, with `k`, `M`, `G`, `T` for powers of 1000
and `KiB`, `MiB`, `GiB`, `TiB` for powers of 1024. Times are `500ms`, `10s`, `5m`, `1h` or `1d`.
)";

// A '|' would end the cell, and '*' begin an emphasis.
std::string cell(std::string_view text) {
  std::string result;
  for (const char c : text) {
    if (c == '|' || c == '*') result += '\\';
    result += c;
  }
  return result;
}

// "`-p`, `--port NUM`", or "`unix = FILE`" if the command line does not have it.
std::string names_of(const Option& option) {
  std::string names;
  if (option.on_command_line) {
    if (option.letter != '\0') names = fmt::format("`-{}`, ", option.letter);
    names += fmt::format("`--{}{}{}`", option.key, option.value.empty() ? "" : " ", option.value);
  } else {
    names = fmt::format("`{}`", option.key);
    if (!option.value.empty()) names += fmt::format(" {}", option.value);
  }
  if (!option.opposite.empty()) names += fmt::format("; in a file also `{}`", option.opposite);
  return cell(names) + (option.repeatable ? " *…*" : "");
}

std::string places_of(const Option& option) {
  std::vector<std::string_view> places;
  if (option.on_command_line) places.emplace_back("command line");
  if (may_stand_in(option, Section::top)) places.emplace_back("top");
  if (may_stand_in(option, Section::site)) places.emplace_back("`[[site]]`");
  if (may_stand_in(option, Section::listener)) places.emplace_back("`[[listener]]`");
  return fmt::format("{}", fmt::join(places, ", "));
}

std::string help_of(const Option& option) {
  std::string help = cell(option.help);
  if (option.type == ValueType::number) {
    help += fmt::format(". {} to {}", option.range.least, option.range.most);
  }
  if (option.type == ValueType::choice)
    help += fmt::format(". {}", fmt::join(option.choices, ", "));
  return help;
}

std::string default_of(const Option& option) {
  if (!option.usual.empty()) return cell(option.usual);
  return option.type == ValueType::flag ? "off" : "none";
}

}  // namespace

std::string reference_markdown() {
  std::string page(introduction);
  std::string_view group;
  for (const Option& option : options()) {
    if (option.group != group) {
      group = option.group;
      page += fmt::format("\n## {}\n\n| option | default | where | |\n|---|---|---|---|\n", group);
    }
    page += fmt::format("| {} | {} | {} | {} |\n", names_of(option), default_of(option),
                        places_of(option), help_of(option));
  }
  return page;
}

}  // namespace h2server::config
