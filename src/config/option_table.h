// The table of all options: each is declared once, with its key, type, range, default and help.
// The command line, the configuration file, completion, the manual page and the reference are made
// of it.
//
// Built at its first use, then constant: any thread.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "config/configuration.h"
#include "config/values.h"

namespace h2server::config {

// What an option belongs to. In a file, the options of sites and listeners also stand at the top,
// as the defaults of all sites or listeners.
enum class Scope : std::uint8_t { program, site, listener };

enum class ValueType : std::uint8_t {
  flag,    // on the command line without a value; in a file true or false
  toggle,  // "on" and "off"; in a file also true and false
  number,
  size,
  duration,
  ratio,
  choice,
  text,
  file,
  directory,
};

// What an option is set in.
struct Target {
  Configuration& program;
  Site& site;
  Listener& listener;
  bool again = false;  // of a repeatable option: this is not its first value
};

struct Option {
  std::string_view key = {};  // in a file; "--KEY" on the command line
  char letter = '\0';         // "-p", or none
  Scope scope = Scope::program;
  ValueType type = ValueType::text;
  std::string_view value = {};                 // the word for its value in help: "NUM"
  Range range = {};                            // of a number
  std::vector<std::string_view> choices = {};  // of a choice
  std::string_view usual = {};                 // the default, or empty: none
  std::string_view help = {};                  // a sentence without its full stop
  std::string_view group = {};
  // Of a flag "no-KEY": a file may have the opposite under this key.
  std::string_view opposite = {};
  bool repeatable = false;
  bool on_command_line = true;
  bool in_file = true;
  bool at_top = true;   // of a file; otherwise only in the tables of its scope
  bool secret = false;  // its value is in no message
  bool is_url = false;  // its value is in messages without user information (RFC 3986, 3.2.1)
  // Reads a value. The error follows the value in a message.
  std::function<Read<void>(const Target& target, const std::string& text)> set = {};
  // Returns the values by which set() makes the same; none if there is nothing to say.
  std::function<std::vector<std::string>(const Target& target)> get = {};
};

// All, in the order of --help.
[[nodiscard]] std::span<const Option> options();

// Returns the value as others may see it: of a URL, "***" stands for its user information.
[[nodiscard]] std::string public_value(const Option& option, std::string_view value);

// Where in a configuration a key stands.
enum class Section : std::uint8_t { command_line, top, site, listener };

[[nodiscard]] bool may_stand_in(const Option& option, Section section) noexcept;
// Returns null if no option of that key, or opposite, may stand there.
[[nodiscard]] const Option* find_option(std::string_view key, Section section) noexcept;
// Says what is wrong with a key that find_option() does not find: "unknown key …".
[[nodiscard]] std::string explain_unknown(std::string_view key, Section section);

// The keys of [[site]] and [[listener]].
[[nodiscard]] std::string_view name_of(Section section) noexcept;

}  // namespace h2server::config
