// A TOML text as plain tables with line numbers. What the keys mean is not known here.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace h2server::config {

struct TomlValue {
  enum class Kind : std::uint8_t {
    boolean,  // "true" or "false"
    number,   // an integer or a decimal number
    text,
    other,  // a date, a time, an array in an array, or a table in an array of values
  };
  Kind kind = Kind::other;
  std::string text = {};
};

struct TomlEntry {
  std::string key;
  bool is_list = false;
  std::vector<TomlValue> values = {};  // one, unless it is a list
  std::uint32_t line = 0;
};

struct TomlTable {
  std::vector<TomlEntry> entries = {};  // in the order of their lines
  std::uint32_t line = 0;
};

// [name], or all [[name]] together.
struct TomlTables {
  std::string name;
  bool is_array = false;
  std::vector<TomlTable> tables = {};
};

struct TomlProblem {
  std::uint32_t line = 0;
  std::string what;
  std::string key = {};    // of the line "KEY = VALUE" whose value is wrong, else empty
  std::string value = {};  // as written
};

struct TomlText {
  TomlTable top = {};
  std::vector<TomlTables> tables = {};  // below the top, in the order of their first lines
  std::vector<TomlProblem> problems = {};
};

// Goes on behind a line whose value is wrong, so that `problems` has several of those. The tables
// are without them. A text beyond the limits of config/toml_limits.h is not parsed.
[[nodiscard]] TomlText parse_toml(std::string text);

}  // namespace h2server::config
