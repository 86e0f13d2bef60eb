#include "http/fields/trailers.h"

#include <algorithm>
#include <array>

#include "http/fields/syntax.h"

namespace h2server::http {

namespace {

constexpr auto never_trailing = std::to_array<std::string_view>({
    "age",
    "authorization",
    "cache-control",
    "connection",
    "content-encoding",
    "content-length",
    "content-range",
    "content-type",
    "cookie",
    "date",
    "expect",
    "expires",
    "host",
    "if-match",
    "if-modified-since",
    "if-none-match",
    "if-range",
    "if-unmodified-since",
    "keep-alive",
    "location",
    "max-forwards",
    "pragma",
    "proxy-authenticate",
    "proxy-authorization",
    "proxy-connection",
    "range",
    "retry-after",
    "set-cookie",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
    "vary",
    "warning",
    "www-authenticate",
});
static_assert(std::ranges::is_sorted(never_trailing));

}  // namespace

bool may_trail(std::string_view name) noexcept {
  return !std::ranges::binary_search(never_trailing, name);
}

void trailer_fields(std::span<const Field> given, base::Arena& arena, std::vector<Field>& fields) {
  for (const Field& field : given) {
    const std::string_view name = lower_case(field.name, arena);
    const bool good = is_token(name) && std::ranges::all_of(field.value, is_field_value_character);
    if (good && may_trail(name)) fields.push_back({name, trim(field.value)});
  }
}

}  // namespace h2server::http
