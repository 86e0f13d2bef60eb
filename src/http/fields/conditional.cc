#include "http/fields/conditional.h"

#include <algorithm>

#include "http/fields/date.h"
#include "http/fields/syntax.h"

namespace h2server::http {
namespace {

struct EntityTag {
  bool weak = false;
  std::string_view opaque;  // with its quotes
};

// RFC 9110, 8.8.3: a tag has no spaces, controls or escapes, but may have commas.
bool is_tag_byte(char byte) noexcept {
  const auto value = static_cast<unsigned char>(byte);
  return value == 0x21 || (value >= 0x23 && value != 0x7f);
}

// Removes one entity tag from the front of `text`. Returns nullopt if there is none.
std::optional<EntityTag> take_tag(std::string_view& text) noexcept {
  EntityTag tag;
  auto rest = text;
  tag.weak = rest.starts_with("W/");
  if (tag.weak) rest.remove_prefix(2);
  if (!rest.starts_with('"')) return std::nullopt;
  const auto close = rest.find('"', 1);
  if (close == std::string_view::npos) return std::nullopt;
  tag.opaque = rest.substr(0, close + 1);
  const auto inside = rest.substr(1, close - 1);
  if (!std::all_of(inside.begin(), inside.end(), is_tag_byte)) return std::nullopt;
  text = rest.substr(close + 1);
  return tag;
}

enum class Comparison { strong, weak };

// RFC 9110, 8.8.3.2.
bool equal(const EntityTag& left, const EntityTag& right, Comparison comparison) noexcept {
  if (comparison == Comparison::strong && (left.weak || right.weak)) return false;
  return left.opaque == right.opaque;
}

std::optional<EntityTag> whole_tag(std::string_view text) noexcept {
  const auto tag = take_tag(text);
  return text.empty() ? tag : std::nullopt;
}

// Returns true if the field is "*" or lists the representation's tag. Reads the list to its end, so
// that a malformed one never matches.
bool matches(std::string_view field, const Validators& validators, Comparison comparison) noexcept {
  auto rest = trim(field);
  if (rest == "*") return true;
  const auto current = whole_tag(validators.etag);
  bool found = false;
  while (!rest.empty()) {
    if (rest.front() == ',' || base::is_blank(rest.front())) {
      rest.remove_prefix(1);  // empty elements do not count (RFC 9110, 5.6.1.2)
      continue;
    }
    const auto tag = take_tag(rest);
    if (!tag) return false;
    rest = trim(rest);
    if (!rest.empty() && rest.front() != ',') return false;
    found = found || (current && equal(*tag, *current, comparison));
  }
  return found;
}

// Returns nullopt (do not evaluate) if the field is absent or its date cannot be parsed.
std::optional<bool> modified_since(const std::optional<std::string_view>& field,
                                   const Validators& validators, std::int64_t now) noexcept {
  if (!field) return std::nullopt;
  const auto date = parse_date(trim(*field), now);
  if (!date) return std::nullopt;
  return validators.modified > *date;
}

}  // namespace

PreconditionResult evaluate(const Preconditions& preconditions, const Validators& validators,
                            bool safe_method, std::int64_t now) noexcept {
  using enum PreconditionResult;
  const auto& [if_match, if_none_match, if_modified_since, if_unmodified_since, if_range] =
      preconditions;

  if (if_match) {
    if (!matches(*if_match, validators, Comparison::strong)) return failed;
  } else if (modified_since(if_unmodified_since, validators, now).value_or(false)) {
    return failed;
  }

  if (if_none_match) {
    if (!matches(*if_none_match, validators, Comparison::weak)) return proceed;
    return safe_method ? not_modified : failed;
  }
  if (safe_method && !modified_since(if_modified_since, validators, now).value_or(true)) {
    return not_modified;
  }
  return proceed;
}

bool range_applies(const Preconditions& preconditions, const Validators& validators,
                   std::int64_t now) noexcept {
  if (!preconditions.if_range) return true;
  const auto value = trim(*preconditions.if_range);
  if (value.starts_with('"') || value.starts_with("W/")) {
    const auto tag = whole_tag(value);
    const auto current = whole_tag(validators.etag);
    return tag && current && equal(*tag, *current, Comparison::strong);
  }
  // A date must match exactly and be a strong validator: a representation modified in the current
  // second may change again without a new date (RFC 9110, 8.8.2.2).
  const auto date = parse_date(value, now);
  return date && *date == validators.modified && validators.modified < now;
}

bool is_strong_tag(std::string_view text) noexcept {
  const auto tag = whole_tag(text);
  return tag && !tag->weak;
}

}  // namespace h2server::http
