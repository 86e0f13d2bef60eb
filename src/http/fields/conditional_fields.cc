#include "http/fields/conditional_fields.h"

#include <algorithm>
#include <string>

#include "http/fields/syntax.h"

namespace h2server::http {

namespace {

std::string join_lines(const Fields& fields, std::string_view name) {
  std::string list;
  for (const Field& line : fields) {
    if (equals_ignoring_case(line.name, name)) list.append(line.value).append(",");
  }
  return list;
}

}  // namespace

bool has_conditional_fields(const Fields& fields) noexcept {
  return std::ranges::any_of(fields, [](const Field& line) {
    const auto is = [&](std::string_view name) { return equals_ignoring_case(line.name, name); };
    switch (line.name.size()) {
      case 5:
        return is("range");
      case 8:
        return is("if-match") || is("if-range");
      case 13:
        return is("if-none-match");
      case 17:
        return is("if-modified-since");
      case 19:
        return is("if-unmodified-since");
      default:
        return false;
    }
  });
}

ConditionalFields find_conditional_fields(const Fields& fields) {
  ConditionalFields found;
  const auto is_repeated = [&](const Field& line, std::string_view name,
                               std::optional<std::string_view>& place) {
    if (!equals_ignoring_case(line.name, name)) return false;
    if (place) return true;
    place = line.value;
    return false;
  };
  const auto take = [&](const Field& line, std::string_view name,
                        std::optional<std::string_view>& place) {
    if (is_repeated(line, name, place)) place = std::string_view();
  };
  const auto take_list = [&](const Field& line, std::string_view name,
                             std::optional<std::string_view>& place) {
    found.lists_go_on |= is_repeated(line, name, place);
  };
  for (const Field& line : fields) {
    switch (line.name.size()) {
      case 5:
        take(line, "range", found.range);
        break;
      case 8:
        take_list(line, "if-match", found.preconditions.if_match);
        take(line, "if-range", found.preconditions.if_range);
        break;
      case 13:
        take_list(line, "if-none-match", found.preconditions.if_none_match);
        break;
      case 17:
        take(line, "if-modified-since", found.preconditions.if_modified_since);
        break;
      case 19:
        take(line, "if-unmodified-since", found.preconditions.if_unmodified_since);
        break;
      default:
        continue;
    }
  }
  return found;
}

PreconditionResult evaluate(const RequestHead& head, const ConditionalFields& fields,
                            const Validators& validators) {
  const bool safe = head.method == Method::GET || head.method == Method::HEAD;
  if (!fields.lists_go_on) return evaluate(fields.preconditions, validators, safe, head.received_s);
  const std::string if_match = join_lines(head.fields, "if-match");
  const std::string if_none_match = join_lines(head.fields, "if-none-match");
  Preconditions joined = fields.preconditions;
  if (joined.if_match) joined.if_match = if_match;
  if (joined.if_none_match) joined.if_none_match = if_none_match;
  return evaluate(joined, validators, safe, head.received_s);
}

}  // namespace h2server::http
