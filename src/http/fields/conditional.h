// Evaluates conditional requests (RFC 9110, 13): answer, "not modified" or refuse.
//
// Does not read requests: the caller passes the field values, with several lines of one field
// joined by commas. Only for representations that exist; a missing one has no validators, so the
// caller decides. Pure functions, any thread, no allocation.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace h2server::http {

// Of the selected representation.
struct Validators {
  std::string_view etag;      // quoted and strong: "\"abc\""; empty if there is none
  std::int64_t modified = 0;  // seconds since 1970, as in Last-Modified
};

// Field values as received; nullopt if the request has no such field.
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

// Evaluates in the order of RFC 9110, 13.2.2. `safe_method` is true for GET and HEAD. Ignores dates
// that cannot be parsed. A list of entity tags that cannot be parsed matches nothing: If-Match then
// fails and If-None-Match proceeds, neither of which can lose data. `now` is only needed for dates
// with a two-digit year.
PreconditionResult evaluate(const Preconditions& preconditions, const Validators& validators,
                            bool safe_method, std::int64_t now) noexcept;

// Returns true if a Range field is to be honoured (RFC 9110, 13.1.5): there is no If-Range, or its
// tag or date equals the representation's by strong comparison. A date must also be before `now`.
bool range_applies(const Preconditions& preconditions, const Validators& validators,
                   std::int64_t now) noexcept;

// Returns true for one strong entity tag with its quotes (RFC 9110, 8.8.3).
bool is_strong_tag(std::string_view text) noexcept;

}  // namespace h2server::http
