// Configuration files in a directory of their own, and what becomes of them.
#pragma once

#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "config/assemble.h"
#include "config/reader.h"

namespace h2server::config {

struct Parsed {
  Configuration configuration;
  std::vector<std::string> problems;  // their files without the directory
};

class ConfigTest : public testing::Test {
 protected:
  ConfigTest() {
    std::string name = std::filesystem::temp_directory_path() / "h2server-config-XXXXXX";
    directory_ = ::mkdtemp(name.data());
  }
  ~ConfigTest() override { std::filesystem::remove_all(directory_); }

  std::string path(std::string_view name) const { return directory_ / name; }
  void write(std::string_view name, std::string_view text) const {
    std::filesystem::create_directories((directory_ / name).parent_path());
    std::ofstream(directory_ / name) << text;
  }

  // The command line's options are by key. Flags have the value "true".
  using CommandLine = std::vector<std::pair<std::string_view, std::vector<std::string>>>;

  Parsed parse_files(const CommandLine& command_line = {}) const {
    Problems problems;
    const Settings settings = read_file(path("site.toml"), problems, [this](const auto& name) {
      const auto found = environment_.find(name);
      return found != environment_.end() ? std::optional(found->second) : std::nullopt;
    });
    return finish(command_line, settings, problems);
  }
  Parsed parse(std::string_view text, const CommandLine& command_line = {}) const {
    write("site.toml", text);
    return parse_files(command_line);
  }
  Parsed parse_command_line(const CommandLine& command_line) const {
    Problems problems;
    return finish(command_line, {}, problems);
  }

  std::map<std::string, std::string> environment_;

 private:
  Parsed finish(const CommandLine& command_line, const Settings& settings,
                Problems& problems) const {
    Assignments given;
    for (const auto& [key, values] : command_line) {
      given.push_back({find_option(key, Section::command_line), values, {}});
      EXPECT_NE(given.back().option, nullptr) << key;
    }
    Parsed parsed{assemble(given, settings, problems), problems.lines()};
    const std::string prefix = directory_.string() + "/";
    for (std::string& line : parsed.problems) {
      for (std::size_t at = 0; (at = line.find(prefix, at)) != line.npos;) {
        line.erase(at, prefix.size());
      }
    }
    return parsed;
  }

  std::filesystem::path directory_;
};

}  // namespace h2server::config
