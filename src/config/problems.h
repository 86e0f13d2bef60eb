// Problems: what is wrong with a configuration, all of it rather than only the first.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "config/configuration.h"

namespace h2server::config {

class Problems {
 public:
  // The same problem counts once. `key` is that of the option whose value is wrong, if one is.
  void add(const Place& place, const std::string& text, std::string_view key = {});

  // Returns true if a problem was added with that key there.
  [[nodiscard]] bool has(const Place& place, std::string_view key) const noexcept;
  [[nodiscard]] bool none() const noexcept { return all_.empty(); }
  // "site.toml:3: TEXT"; without a file, only the text. Sorted by files and lines; if there are too
  // many, the last one says how many there are beside them.
  [[nodiscard]] std::vector<std::string> lines() const;
  // All lines, separated by '\n'.
  [[nodiscard]] std::string text() const;

  static constexpr std::size_t lines_max = 20;  // as many as a person mends before the next try

 private:
  struct Problem {
    Place place;
    std::string text;
    std::string_view key;  // of the table of options
  };

  std::vector<Problem> all_;
  std::size_t others_ = 0;
};

// "site.toml:3", "site.toml", or "the command line".
[[nodiscard]] std::string name_of(const Place& place);

}  // namespace h2server::config
