#include "app/options/options.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>

#include <cstdio>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "app/options/option_checks.h"
#include "app/options/scheme_table.h"
#include "base/log.h"
#include "config/assemble.h"
#include "config/nearest.h"
#include "config/option_table.h"
#include "config/reader.h"

namespace h2server::app {

namespace {

constexpr const char* purpose = "Serves a directory and takes uploads over HTTP/1.1 and HTTP/2.";
constexpr const char* footer =
    "Routes: GET /... serves the root. With --upload-dir also GET /files (a page with a form),\n"
    "GET /files/NAME and POST /files (multipart/form-data).\n"
    "A configuration file uses the long option names: threads = 4";
constexpr std::string_view root_key = "root";  // its value may stand without "--root"

using config::Option;

// "root,-r,--root"
std::string names_of(const Option& option) {
  std::string names = option.key == root_key ? fmt::format("{},", root_key) : "";
  if (option.letter != '\0') names += fmt::format("-{},", option.letter);
  return names + fmt::format("--{}", option.key);
}

std::string help_of(const Option& option) {
  if (option.usual.empty()) return std::string(option.help);
  return fmt::format("{} [{}]", option.help, option.usual);
}

void declare(CLI::App& app, const Option& option) {
  using Policy = CLI::MultiOptionPolicy;
  if (option.type == config::ValueType::flag) {
    app.add_flag(names_of(option))
        ->description(help_of(option))
        ->multi_option_policy(Policy::TakeLast)
        ->group(std::string(option.group));
    return;
  }
  app.add_option(names_of(option))
      ->description(help_of(option))
      ->type_name(std::string(option.value))
      ->expected(1)
      ->allow_extra_args(false)  // what follows may be the root
      ->multi_option_policy(option.repeatable ? Policy::TakeAll : Policy::Throw)
      ->group(std::string(option.group));
}

void declare_all(CLI::App& app) {
  for (const Option& option : config::options()) {
    if (option.on_command_line) declare(app, option);
  }
  app.set_version_flag("--version", "h2server " H2SERVER_VERSION);
  app.footer(footer);
}

std::vector<std::string> values_of(const CLI::App& app, std::string_view key) {
  return app.get_option(fmt::format("--{}", key))->results();
}

// Returns what is given, but for --config.
config::Assignments assignments_of(const CLI::App& app) {
  config::Assignments all;
  for (const Option& option : config::options()) {
    if (!option.on_command_line || !option.in_file) continue;
    std::vector<std::string> values = values_of(app, option.key);
    if (!values.empty()) {
      all.push_back({.option = &option, .values = std::move(values), .place = {}});
    }
  }
  return all;
}

// "; did you mean --port?" for the first argument that is no option, or an empty text.
std::string suggestion(const CLI::App& app) {
  for (const std::string& argument : app.remaining()) {
    if (!argument.starts_with("--")) continue;
    std::vector<std::string_view> keys;
    for (const Option& option : config::options()) {
      if (option.on_command_line) keys.push_back(option.key);
    }
    const std::string_view name = std::string_view(argument).substr(2);
    const std::string_view nearest = config::nearest_of(name.substr(0, name.find('=')), keys);
    return nearest.empty() ? std::string() : fmt::format("; did you mean --{}?", nearest);
  }
  return {};
}

// Reads the arguments. The error is the reason to stop.
Result<void, Stop> parse(CLI::App& app, int argc, char** argv) {
  try {
    app.parse(argc, argv);
  } catch (const CLI::CallForHelp&) {
    return std::unexpected(Stop{0, app.help()});
  } catch (const CLI::CallForVersion& version) {
    return std::unexpected(Stop{0, std::string(version.what()) + "\n"});
  } catch (const CLI::Error& error) {
    return std::unexpected(Stop{
        exit_wrong_use, fmt::format("{}{}; see h2server --help", error.what(), suggestion(app))});
  }
  for (const std::string& scheme : values_of(app, "scheme")) {
    if (scheme == "help") return std::unexpected(Stop{0, scheme_table()});
  }
  return {};
}

OptionText option_text_of(const Option& option) {
  OptionText text;
  if (option.letter != '\0') text.names.push_back(fmt::format("-{}", option.letter));
  text.names.push_back(fmt::format("--{}", option.key));
  text.value = option.value;
  text.usual = option.usual;
  text.description = option.help;
  for (const std::string_view choice : option.choices) text.choices.emplace_back(choice);
  if (option.key == "scheme") text.choices.emplace_back("help");
  if (option.type == config::ValueType::number) {
    text.range = fmt::format("{} - {}", option.range.least, option.range.most);
  }
  text.kind = kind_of(text);
  return text;
}

}  // namespace

ProgramText program_text() {
  ProgramText text{.name = "h2server", .description = purpose, .footer = footer, .options = {}};
  text.options.push_back(
      {.names = {"-h", "--help"}, .description = "Print this help message and exit"});
  for (const Option& option : config::options()) {
    if (!option.on_command_line) continue;
    OptionText one = option_text_of(option);
    if (option.key == root_key) {
      OptionText positional = one;
      positional.names = {std::string(root_key)};
      positional.positional = true;
      text.options.push_back(std::move(positional));
    }
    text.options.push_back(std::move(one));
  }
  text.options.push_back(
      {.names = {"--version"}, .description = "Display program version information and exit"});
  return text;
}

Result<config::Configuration, Stop> parse_options(int argc, char** argv, Places places) {
  CLI::App app(purpose, "h2server");
  declare_all(app);
  if (const Result<void, Stop> parsed = parse(app, argc, argv); !parsed) {
    return std::unexpected(parsed.error());
  }
  config::Problems problems;
  config::Settings file;
  const std::vector<std::string> files = values_of(app, "config");
  if (!files.empty()) file = config::read_file(files.front(), problems);
  config::Configuration configuration = config::assemble(assignments_of(app), file, problems);
  if (problems.none() && places == Places::must_fit) {
    check_places(configuration, problems);
  }
  if (!problems.none()) return std::unexpected(Stop{exit_wrong_use, problems.text()});
  return configuration;
}

Result<void, Stop> check_places_again(const config::Configuration& configuration) {
  config::Problems problems;
  check_places(configuration, problems);
  if (!problems.none()) return std::unexpected(Stop{exit_wrong_use, problems.text()});
  return {};
}

}  // namespace h2server::app
