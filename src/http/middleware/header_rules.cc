#include "h2server/header_rules.h"

#include <algorithm>
#include <cstddef>
#include <stdexcept>
#include <utility>

#include "base/text/text.h"
#include "http/path_pattern.h"

namespace h2server {

namespace {

struct CompiledRule {
  http::PathPattern pattern;
  std::string value;
  bool hashed_names_only;
};

// The rules for one name, the last first.
struct FieldRules {
  std::string name;
  std::vector<CompiledRule> rules;
};

void check_rule(const HeaderRule& rule) {
  if (!rule.pattern.starts_with('/')) {
    throw std::invalid_argument("a pattern without '/' at its start: " + rule.pattern);
  }
  Response checked;  // throws for what can't be sent
  checked.add(rule.name, rule.value);
}

std::vector<FieldRules> compile(std::vector<HeaderRule> rules) {
  std::vector<FieldRules> fields;
  std::ranges::reverse(rules);
  for (HeaderRule& rule : rules) {
    check_rule(rule);
    const auto same_name = [&rule](const FieldRules& field) {
      return base::equals_ignoring_case(field.name, rule.name);
    };
    auto field = std::ranges::find_if(fields, same_name);
    if (field == fields.end()) field = fields.insert(field, {.name = rule.name, .rules = {}});
    field->rules.push_back({.pattern = http::PathPattern(rule.pattern),
                            .value = std::move(rule.value),
                            .hashed_names_only = rule.hashed_names_only});
  }
  return fields;
}

bool applies(const CompiledRule& rule, std::string_view path, int status) noexcept {
  if (rule.hashed_names_only && status >= 400) return false;
  return rule.pattern.matches(path) && (!rule.hashed_names_only || has_hashed_name(path));
}

bool is_hash(std::string_view text) noexcept {
  bool digits = false;
  bool lower = false;
  bool upper = false;
  bool hexadecimal = true;
  for (const char c : text) {
    if (!base::is_alphanumeric(c)) return false;
    digits = digits || base::is_digit(c);
    lower = lower || (c >= 'a' && c <= 'z');
    upper = upper || (c >= 'A' && c <= 'Z');
    hexadecimal = hexadecimal && base::hex_digit(c) >= 0;
  }
  const bool mixed = lower && upper;
  const bool letters = lower || upper;
  return text.size() >= 8 && digits && (mixed || (hexadecimal && letters));
}

}  // namespace

Middleware header_rules(std::vector<HeaderRule> rules) {
  return [fields = compile(std::move(rules))](Request& request, Response& response) {
    for (const FieldRules& field : fields) {
      const auto matches = [&](const CompiledRule& rule) {
        return applies(rule, request.path(), response.status());
      };
      const auto rule = std::ranges::find_if(field.rules, matches);
      if (rule == field.rules.end()) continue;
      if (!rule->value.empty()) response.replace(field.name, rule->value);
      else if (response.find(field.name)) response.remove(field.name);
    }
  };
}

HeaderRule immutable_files(std::string pattern) {
  return {.pattern = std::move(pattern),
          .name = "Cache-Control",
          .value = "public, max-age=31536000, immutable",
          .hashed_names_only = true};
}

bool has_hashed_name(std::string_view path) noexcept {
  std::string_view name = path.substr(path.rfind('/') + 1);
  if (name.ends_with(".map")) name.remove_suffix(4);
  const std::size_t dot = name.rfind('.');
  if (dot == std::string_view::npos || dot + 1 == name.size()) return false;
  const std::string_view stem = name.substr(0, dot);
  const std::size_t separator = stem.find_last_of(".-");
  return is_hash(separator == std::string_view::npos ? stem : stem.substr(separator + 1));
}

}  // namespace h2server
