#include "config/option_table.h"

#include <fmt/format.h>

#include <algorithm>

#include "config/nearest.h"
#include "config/option_makers.h"
#include "observe/url_parts.h"

namespace h2server::config {

namespace {

struct Group {
  std::string_view name;
  Scope scope;
  void (*add)(std::vector<Option>& all);
};

constexpr Group groups[] = {
    {"Files", Scope::site, add_file_options},
    {"Responses", Scope::site, add_response_options},
    {"Access", Scope::site, add_access_options},
    {"Uploads", Scope::site, add_upload_options},
    {"Listeners", Scope::listener, add_listener_options},
    {"TLS", Scope::site, add_tls_options},
    {"Threads and connections", Scope::program, add_scheme_options},
    {"Limits", Scope::program, add_limit_options},
    {"Logs", Scope::program, add_log_options},
    {"Operation", Scope::program, add_operation_options},
};

std::vector<Option> make_table() {
  std::vector<Option> all;
  for (const Group& group : groups) {
    const std::size_t before = all.size();
    group.add(all);
    for (std::size_t i = before; i < all.size(); ++i) {
      all[i].group = group.name;
      if (all[i].scope == Scope::program) all[i].scope = group.scope;
    }
  }
  return all;
}

bool has_key(const Option& option, std::string_view key) {
  return option.key == key || (!option.opposite.empty() && option.opposite == key);
}

// Returns where in a file an option of that scope stands.
std::string_view place_of(const Option& option) {
  switch (option.scope) {
    case Scope::site:
      return "in [[site]]";
    case Scope::listener:
      return "in [[listener]]";
    case Scope::program:
      break;
  }
  return "at the top, before all tables";
}

}  // namespace

std::span<const Option> options() {
  static const std::vector<Option> table = make_table();
  return table;
}

std::string public_value(const Option& option, std::string_view value) {
  if (!option.is_url) return std::string(value);
  const observe::PublicUrl url = observe::without_user_info(value);
  if (url.scheme.size() + url.rest.size() == value.size()) return std::string(value);
  return fmt::format("{}***@{}", url.scheme, url.rest);
}

bool may_stand_in(const Option& option, Section section) noexcept {
  switch (section) {
    case Section::command_line:
      return option.on_command_line;
    case Section::top:
      return option.in_file && option.at_top;
    case Section::site:
      return option.in_file && option.scope == Scope::site;
    case Section::listener:
      break;
  }
  return option.in_file && option.scope == Scope::listener;
}

const Option* find_option(std::string_view key, Section section) noexcept {
  for (const Option& option : options()) {
    if (option.key == key && may_stand_in(option, section)) return &option;
  }
  if (section == Section::command_line) return nullptr;
  for (const Option& option : options()) {
    if (has_key(option, key) && may_stand_in(option, section)) return &option;
  }
  return nullptr;
}

std::string explain_unknown(std::string_view key, Section section) {
  for (const Option& option : options()) {
    if (!option.in_file || !has_key(option, key)) continue;
    return fmt::format(
        "\"{}\" belongs {}, not {}", key, place_of(option),
        section == Section::top ? "at the top" : fmt::format("in {}", name_of(section)));
  }
  std::vector<std::string_view> keys;
  for (const Option& option : options()) {
    if (may_stand_in(option, section)) keys.push_back(option.key);
  }
  const std::string_view nearest = nearest_of(key, keys);
  return nearest.empty() ? fmt::format("unknown key \"{}\"", key)
                         : fmt::format("unknown key \"{}\"; did you mean \"{}\"?", key, nearest);
}

std::string_view name_of(Section section) noexcept {
  switch (section) {
    case Section::site:
      return "[[site]]";
    case Section::listener:
      return "[[listener]]";
    case Section::command_line:
    case Section::top:
      break;
  }
  return "";
}

}  // namespace h2server::config
