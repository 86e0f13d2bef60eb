// Content negotiation: which of a handler's representations suits a request best (RFC 9110, 12.4
// and 12.5).
//
//   constexpr std::array<std::string_view, 2> offers = {"text/html", "application/json"};
//   const auto best = h2server::best_media_type(request, offers);   // an index, or nullopt: 406
//
// Each function returns the index of the offer with the highest quality that the client gave it;
// among equals, that of the first one, so list what the server prefers first. Returns nullopt if
// the client accepts none of them. A response that was chosen in this way needs a Vary field with
// the name of the request's field (RFC 9110, 12.5.5).
//
// Several field lines form one list. Malformed elements are ignored; a quality such as ".2" or
// "0.12345" is not malformed, since clients send it. A field without any valid element counts as
// absent, except for Accept-Encoding. Pure functions, no allocation.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string_view>

#include "h2server/request.h"

#pragma GCC visibility push(default)
namespace h2server {

// Accept (12.5.1). Offers are media types such as "text/html; charset=utf-8". An offer gets the
// quality of the most specific range that matches it: with the most parameters, then "type/*", then
// "*/*". An absent field accepts everything.
[[nodiscard]] std::optional<std::size_t> best_media_type(
    const Request& request, std::span<const std::string_view> offers) noexcept;

// Accept-Encoding (12.5.3). Offers are content codings such as "gzip", or "identity" for content
// without one. "identity" is acceptable unless the field excludes it, but comes after all codings
// that the field names. If the field is absent, everything is acceptable, and "identity" comes
// first: clients that can decode say so.
[[nodiscard]] std::optional<std::size_t> best_encoding(
    const Request& request, std::span<const std::string_view> offers) noexcept;

// Accept-Language (12.5.4). Offers are language tags such as "de-CH". An offer gets the quality of
// the longest range that it begins with (RFC 4647, 3.3.1: "de" matches "de-CH"). If there is none,
// it gets the highest quality of the ranges that begin with it (3.4: "de-CH" falls back to "de"),
// otherwise that of "*". An absent field accepts everything. Instead of refusing a request, send a
// default language.
[[nodiscard]] std::optional<std::size_t> best_language(
    const Request& request, std::span<const std::string_view> offers) noexcept;

}  // namespace h2server
#pragma GCC visibility pop
