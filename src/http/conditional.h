// Conditional requests (RFC 9110, 13): whether to answer, to say "not modified", or to refuse.
//
// Not a reader of requests: the caller hands over the field values, several lines of one field
// joined with commas. For representations that exist; one that does not has no validators to
// compare, and is the caller's to decide. Pure, any thread, no allocation.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace h2server::http {

// Of the selected representation.
struct Validators {
  std::string_view etag;      // quoted and strong: "\"abc\""; empty when there is none
  std::int64_t modified = 0;  // seconds since 1970, as Last-Modified says it
};

// Field values as received, absent where the request has no such field.
struct Preconditions {
  std::optional<std::string_view> if_match = {};
  std::optional<std::string_view> if_none_match = {};
  std::optional<std::string_view> if_modified_since = {};
  std::optional<std::string_view> if_unmodified_since = {};
  std::optional<std::string_view> if_range = {};
};

enum class PreconditionResult {
  proceed,
  not_modified,  // 304
  failed,        // 412
};

// In the order of RFC 9110, 13.2.2. `safe_method` says that the method is GET or HEAD.
// Dates that cannot be read are ignored. A list of entity tags that cannot be read matches
// nothing: If-Match then fails, If-None-Match proceeds, neither of which can lose data.
// `now` is only for dates with a two-digit year.
PreconditionResult evaluate(const Preconditions& preconditions, const Validators& validators,
                            bool safe_method, std::int64_t now) noexcept;

// Whether a Range field is to be honoured (RFC 9110, 13.1.5): true without If-Range, or when the
// tag or the date in it is, by strong comparison, that of the representation.
bool range_applies(const Preconditions& preconditions, const Validators& validators,
                   std::int64_t now) noexcept;

}  // namespace h2server::http
