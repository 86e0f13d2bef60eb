#include "content/webdav/webdav_fields.h"

#include <algorithm>

#include "base/memory/arena.h"
#include "base/text/text.h"
#include "http/fields/syntax.h"
#include "http/fields/target.h"

namespace h2server::content {

namespace {

// Returns the text up to `close` and removes it from `rest`, both brackets included. `rest` begins
// with the opening one. Returns nullopt if it is not closed or holds nothing.
std::optional<std::string_view> take_bracketed(std::string_view& rest, char close) noexcept {
  const std::size_t end = rest.find(close, 1);
  if (end == std::string_view::npos || end == 1) return std::nullopt;
  const std::string_view inside = rest.substr(1, end - 1);
  rest.remove_prefix(end + 1);
  return inside;
}

bool is_uri_text(std::string_view text) noexcept {
  return std::ranges::all_of(text, [](char c) { return c > 0x20 && c < 0x7f && c != '"'; });
}

// An entity tag may hold brackets, so its quotes are looked for (RFC 9110, 8.8.3).
std::optional<std::string_view> take_tag(std::string_view& rest) noexcept {
  const std::string_view text = rest.substr(1);
  const std::size_t open = text.starts_with("W/") ? 2 : 0;
  if (!text.substr(open).starts_with('"')) return std::nullopt;
  const std::size_t close = text.find('"', open + 1);
  if (close == std::string_view::npos || !text.substr(close + 1).starts_with(']')) {
    return std::nullopt;
  }
  rest.remove_prefix(close + 3);
  return text.substr(0, close + 1);
}

std::optional<IfCondition> take_condition(std::string_view& rest) noexcept {
  IfCondition condition;
  if (base::equals_ignoring_case(rest.substr(0, 3), "not")) {
    condition.negated = true;
    rest = base::trim(rest.substr(3));
  }
  if (rest.empty()) return std::nullopt;
  condition.is_tag = rest.front() == '[';
  if (!condition.is_tag && rest.front() != '<') return std::nullopt;
  const auto value = condition.is_tag ? take_tag(rest) : take_bracketed(rest, '>');
  if (!value || (!condition.is_tag && !is_uri_text(*value))) return std::nullopt;
  condition.value = *value;
  rest = base::trim(rest);
  return condition;
}

// `rest` begins with '('.
std::optional<IfList> take_list(std::string_view& rest) {
  IfList list;
  rest = base::trim(rest.substr(1));
  while (!rest.starts_with(')')) {
    const std::optional<IfCondition> condition = take_condition(rest);
    if (!condition || list.conditions.size() == IfLimits::conditions_max) return std::nullopt;
    list.conditions.push_back(*condition);
  }
  if (list.conditions.empty()) return std::nullopt;
  rest = base::trim(rest.substr(1));
  return list;
}

}  // namespace

std::optional<Depth> parse_depth(std::optional<std::string_view> value, Depth usual) noexcept {
  if (!value) return usual;
  if (*value == "0") return Depth::zero;
  if (*value == "1") return Depth::one;
  if (base::equals_ignoring_case(*value, "infinity")) return Depth::infinity;
  return std::nullopt;
}

std::optional<bool> parse_overwrite(std::optional<std::string_view> value) noexcept {
  if (!value) return true;
  if (base::equals_ignoring_case(*value, "T")) return true;
  if (base::equals_ignoring_case(*value, "F")) return false;
  return std::nullopt;
}

std::uint32_t parse_timeout(std::optional<std::string_view> value,
                            std::uint32_t seconds_max) noexcept {
  std::optional<std::uint32_t> found;
  http::for_each_element(value.value_or(""), [&](std::string_view type) {
    constexpr std::string_view seconds = "Second-";
    if (found) return;
    if (base::equals_ignoring_case(type, "Infinite")) found = seconds_max;
    if (!base::equals_ignoring_case(type.substr(0, seconds.size()), seconds)) return;
    const std::string_view digits = type.substr(seconds.size());
    if (digits.empty() || !std::ranges::all_of(digits, base::is_digit)) return;
    const std::uint64_t number = base::parse_decimal(digits).value_or(seconds_max);
    found = static_cast<std::uint32_t>(
        std::clamp<std::uint64_t>(number, std::uint64_t{1}, std::uint64_t{seconds_max}));
  });
  return found.value_or(seconds_max);
}

std::optional<std::string_view> parse_coded_url(std::string_view value) noexcept {
  std::string_view rest = base::trim(value);
  if (!rest.starts_with('<')) return std::nullopt;
  const std::optional<std::string_view> url = take_bracketed(rest, '>');
  if (!url || !rest.empty() || !is_uri_text(*url)) return std::nullopt;
  return url;
}

Result<std::string, int> parse_reference(std::string_view value, std::string_view authority) {
  base::Arena arena;
  const std::optional<http::Target> target = http::parse_target(base::trim(value), arena);
  if (!target || target->path == "*") return std::unexpected(400);
  if (!target->authority.empty()) {
    const std::optional<http::Authority> named = http::parse_authority(target->authority);
    const std::optional<http::Authority> own = http::parse_authority(authority);
    if (!named || !own || !base::equals_ignoring_case(named->host, own->host)) {
      return std::unexpected(502);
    }
    if (named->port && own->port && named->port != own->port) return std::unexpected(502);
  }
  return std::string(target->path);
}

std::optional<std::string> path_below(std::string_view path, std::string_view base) {
  if (!path.starts_with(base)) return std::nullopt;
  path.remove_prefix(base.size());
  if (path.empty()) return std::string();
  if (path.front() != '/') return std::nullopt;
  path.remove_prefix(1);
  if (path.ends_with('/')) path.remove_suffix(1);
  return std::string(path);
}

std::optional<std::vector<IfList>> parse_if(std::string_view value) {
  std::vector<IfList> lists;
  std::string_view rest = base::trim(value);
  const bool is_tagged = rest.starts_with('<');
  std::string_view resource;
  std::size_t conditions = 0;
  bool has_list = true;  // since the last tag
  while (!rest.empty()) {
    if (is_tagged && rest.front() == '<') {
      const std::optional<std::string_view> tag = take_bracketed(rest, '>');
      if (!has_list || !tag || !is_uri_text(*tag)) return std::nullopt;
      resource = *tag;
      has_list = false;
      rest = base::trim(rest);
      continue;
    }
    if (rest.front() != '(') return std::nullopt;
    std::optional<IfList> list = take_list(rest);
    if (!list) return std::nullopt;
    conditions += list->conditions.size();
    if (conditions > IfLimits::conditions_max) return std::nullopt;
    list->resource = resource;
    lists.push_back(*std::move(list));
    has_list = true;
  }
  if (lists.empty() || !has_list) return std::nullopt;
  return lists;
}

}  // namespace h2server::content
