#include "config/toml_text.h"

#define TOML_HEADER_ONLY 1
#define TOML_EXCEPTIONS 0
#define TOML_ENABLE_FORMATTERS 0
#include <fmt/format.h>
#include <toml++/toml.h>

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string_view>
#include <utility>

#include "base/text/text.h"
#include "config/toml_limits.h"

namespace h2server::config {

namespace {

constexpr std::size_t problems_max = 20;

TomlValue toml_value(const toml::node& node) {
  using Kind = TomlValue::Kind;
  if (const auto* const text = node.as_string()) return {Kind::text, text->get()};
  if (const auto* const on = node.as_boolean())
    return {Kind::boolean, on->get() ? "true" : "false"};
  if (const auto* const integer = node.as_integer()) {
    return {Kind::number, std::to_string(integer->get())};
  }
  if (const auto* const decimal = node.as_floating_point()) {
    return {Kind::number, fmt::format("{}", decimal->get())};
  }
  return {Kind::other, {}};
}

TomlEntry entry_of(std::string_view key, std::uint32_t line, const toml::node& node) {
  TomlEntry entry{.key = std::string(key), .line = line};
  const toml::array* const array = node.as_array();
  entry.is_list = array != nullptr;
  if (array == nullptr) {
    entry.values.push_back(toml_value(node));
    return entry;
  }
  for (const toml::node& element : *array) entry.values.push_back(toml_value(element));
  return entry;
}

void sort_by_line(std::vector<TomlEntry>& entries) {
  std::ranges::sort(entries, {}, [](const TomlEntry& entry) {
    return std::pair(entry.line, std::string_view(entry.key));
  });
}

TomlTable table_of(const toml::table& table) {
  TomlTable result{.line = table.source().begin.line};
  for (const auto& [key, node] : table) {
    result.entries.push_back(entry_of(key.str(), key.source().begin.line, node));
  }
  sort_by_line(result.entries);
  return result;
}

// Returns the tables that `node` holds, or nullopt if it is no table.
std::optional<TomlTables> tables_of(std::string_view name, const toml::node& node) {
  TomlTables result{.name = std::string(name)};
  if (const toml::table* const table = node.as_table()) {
    result.tables.push_back(table_of(*table));
    return result;
  }
  const toml::array* const array = node.as_array();
  if (array == nullptr || !array->is_array_of_tables()) return std::nullopt;
  result.is_array = true;
  for (const toml::node& element : *array) result.tables.push_back(table_of(*element.as_table()));
  return result;
}

void read_document(const toml::table& document, TomlText& result) {
  result.top.line = 1;
  for (const auto& [key, node] : document) {
    if (std::optional<TomlTables> tables = tables_of(key.str(), node)) {
      result.tables.push_back(*std::move(tables));
    } else {
      result.top.entries.push_back(entry_of(key.str(), key.source().begin.line, node));
    }
  }
  sort_by_line(result.top.entries);
  std::ranges::sort(result.tables, {}, [](const TomlTables& tables) {
    return std::pair(tables.tables.front().line, std::string_view(tables.name));
  });
}

// Returns the given line's begin and end; both are the end of the text if there is none.
std::pair<std::size_t, std::size_t> find_line(std::string_view text, std::uint32_t line) {
  std::size_t begin = 0;
  for (std::uint32_t i = 1; i < line && begin < text.size(); ++i) {
    begin = std::min(text.find('\n', begin), text.size() - 1) + 1;
  }
  return {begin, std::min(text.find('\n', begin), text.size())};
}

// Fills in key and value if the line is "KEY = VALUE", with nothing that goes on in another line.
bool read_line(std::string_view line, TomlProblem& problem) {
  const std::size_t equals = line.find('=');
  if (equals == std::string_view::npos) return false;
  const std::string_view key = base::trim(line.substr(0, equals));
  const bool plain = !key.empty() && std::ranges::all_of(key, [](char c) {
    return base::is_alphanumeric(c) || c == '-' || c == '_';
  });
  if (!plain || line.find_first_of("[{") != std::string_view::npos ||
      line.find("\"\"\"") != std::string_view::npos || line.find("'''") != std::string_view::npos) {
    return false;
  }
  std::string_view value = line.substr(equals + 1);
  if (value.find('"') == std::string_view::npos) value = value.substr(0, value.find('#'));
  if (value.ends_with('\r')) value.remove_suffix(1);
  problem.key = key;
  problem.value = base::trim(value);
  return true;
}

}  // namespace

TomlText parse_toml(std::string text) {
  TomlText result;
  for (;;) {
    if (std::optional<TomlProblem> excess = find_excess(text)) {
      result.problems.push_back(*std::move(excess));
      break;
    }
    const toml::parse_result parsed = toml::parse(text);
    if (parsed) {
      read_document(parsed.table(), result);
      break;
    }
    const toml::parse_error& error = parsed.error();
    TomlProblem problem{.line = error.source().begin.line,
                        .what = std::string(error.description())};
    // The error may stand behind the line's end.
    auto [begin, end] = find_line(text, problem.line);
    if (begin == end && begin > 0 && problem.line > 1) {
      std::tie(begin, end) = find_line(text, --problem.line);
    }
    const bool again = read_line(std::string_view(text).substr(begin, end - begin), problem);
    result.problems.push_back(std::move(problem));
    if (!again || result.problems.size() == problems_max) break;
    text.replace(begin, end - begin, end - begin, ' ');
  }
  return result;
}

}  // namespace h2server::config
