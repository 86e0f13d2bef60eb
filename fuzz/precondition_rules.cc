#include "precondition_rules.h"

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "http/fields/conditional.h"
#include "http/fields/date.h"
#include "require.h"

namespace h2server::fuzz {

namespace {

using http::Preconditions;
using http::Validators;
using Result = http::PreconditionResult;

std::string_view without_blanks(std::string_view text) {
  const std::size_t first = text.find_first_not_of(" \t");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t") - first + 1);
}

// Returns the elements of a list, split at commas outside quotes.
std::vector<std::string_view> elements_of(std::string_view list) {
  std::vector<std::string_view> elements;
  bool quoted = false;
  std::size_t begin = 0;
  for (std::size_t i = 0; i <= list.size(); ++i) {
    if (i < list.size() && list[i] == '"') quoted = !quoted;
    if (i < list.size() && (quoted || list[i] != ',')) continue;
    const std::string_view element = without_blanks(list.substr(begin, i - begin));
    if (!element.empty()) elements.push_back(element);
    begin = i + 1;
  }
  return elements;
}

// RFC 9110, 8.8.3.
bool is_tag(std::string_view text) {
  if (text.starts_with("W/")) text.remove_prefix(2);
  if (text.size() < 2 || !text.starts_with('"') || !text.ends_with('"')) return false;
  return std::ranges::all_of(text.substr(1, text.size() - 2), [](char c) {
    const auto byte = static_cast<unsigned char>(c);
    return byte > 0x20 && byte != '"' && byte != 0x7f;
  });
}

// `etag` is strong. RFC 9110, 8.8.3.2 and 13.1.
bool matches(std::string_view list, std::string_view etag, bool weakly) {
  if (without_blanks(list) == "*") return true;
  const std::vector<std::string_view> elements = elements_of(list);
  if (!std::ranges::all_of(elements, is_tag)) return false;
  return std::ranges::any_of(elements, [&](std::string_view element) {
    return element == etag || (weakly && element == std::string("W/").append(etag));
  });
}

// RFC 9110, 13.2.2, with one field at a time.
void check_tags(std::string_view value, const Validators& validators, std::int64_t now) {
  const bool strong = matches(value, validators.etag, false);
  const bool weak = matches(value, validators.etag, true);
  for (const bool safe : {true, false}) {
    const Result if_match = evaluate({.if_match = value}, validators, safe, now);
    require(if_match == (strong ? Result::proceed : Result::failed), "If-Match");
    const Result if_none = evaluate({.if_none_match = value}, validators, safe, now);
    const Result matched = safe ? Result::not_modified : Result::failed;
    require(if_none == (weak ? matched : Result::proceed), "If-None-Match");
  }
}

void check_dates(std::string_view value, const Validators& validators, std::int64_t now) {
  const std::optional<std::int64_t> date = http::parse_date(without_blanks(value), now);
  const bool modified = date && validators.modified > *date;
  for (const bool safe : {true, false}) {
    const Result unmodified = evaluate({.if_unmodified_since = value}, validators, safe, now);
    require(unmodified == (modified ? Result::failed : Result::proceed), "If-Unmodified-Since");
    const Result since = evaluate({.if_modified_since = value}, validators, safe, now);
    const bool fresh = safe && date && !modified;
    require(since == (fresh ? Result::not_modified : Result::proceed), "If-Modified-Since");
  }
}

// Fields do not affect each other: entity tags precede dates, and If-Match precedes If-None-Match.
void check_together(std::string_view value, const Validators& validators, std::int64_t now) {
  for (const bool safe : {true, false}) {
    const Result first = evaluate({.if_match = value}, validators, safe, now);
    const Result second = evaluate({.if_none_match = value}, validators, safe, now);
    const Preconditions all{.if_match = value,
                            .if_none_match = value,
                            .if_modified_since = value,
                            .if_unmodified_since = value,
                            .if_range = value};
    const Result expected = first == Result::failed ? first : second;
    require(evaluate(all, validators, safe, now) == expected, "all preconditions together");
  }
}

// RFC 9110, 13.1.5: only the identical tag, or the identical date if it is not recent.
void check_if_range(std::string_view value, const Validators& validators, std::int64_t now) {
  require(range_applies({}, validators, now), "without If-Range a range applies");
  const bool applies = range_applies({.if_range = value}, validators, now);
  const std::string_view validator = without_blanks(value);
  const bool same_tag = !validators.etag.empty() && validator == validators.etag;
  const bool same_date =
      http::parse_date(validator, now) == validators.modified && validators.modified < now;
  require(applies == (same_tag || same_date), "If-Range");
}

}  // namespace

void check_preconditions(std::string_view value, std::int64_t now) {
  // Validators taken from the value itself are certain to match.
  const std::vector<std::string_view> elements = elements_of(value);
  const bool has_tag = !elements.empty() && is_tag(elements[0]) && elements[0][0] == '"';
  const std::int64_t modified = http::parse_date(without_blanks(value), now).value_or(now - 1);
  for (const std::string_view etag :
       {std::string_view("\"a\""), has_tag ? elements[0] : std::string_view("\"\"")}) {
    const Validators validators{.etag = etag, .modified = modified};
    check_tags(value, validators, now);
    check_dates(value, validators, now);
    check_dates(value, {.etag = etag, .modified = modified + 1}, now);
    check_together(value, validators, now);
    check_if_range(value, validators, now);
  }
}

}  // namespace h2server::fuzz
