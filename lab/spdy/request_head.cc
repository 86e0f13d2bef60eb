#include "spdy/request_head.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "http/fields/syntax.h"
#include "spdy/header_block.h"

namespace h2server::lab::spdy {

namespace {

using http::h2::RequestHeadBuilder;
using http::h2::hpack::FieldLine;
using http::h2::hpack::Token;

bool is_special(std::string_view name) noexcept { return name.starts_with(':'); }

// SPDY, 2.6.10: US-ASCII in lower case.
bool is_name(std::string_view name) noexcept {
  if (is_special(name)) name.remove_prefix(1);
  return base::is_token(name) &&
         std::ranges::none_of(name, [](char c) { return c >= 'A' && c <= 'Z'; });
}

bool is_value(std::string_view value) noexcept {
  return http::trim(value) == value && std::ranges::all_of(value, http::is_field_value_character);
}

FieldLine line_of(std::string_view name, std::string_view value) noexcept {
  return {.name = name,
          .value = value,
          .token = http::h2::hpack::token_of(name),
          .name_is_valid = is_name(name),
          .value_is_valid = is_value(value)};
}

// ":host" is HTTP/2's ":authority". SPDY has no such name, nor the field Host.
bool add_special(const Field& pair, RequestHeadBuilder& builder) {
  if (pair.name == ":version") return pair.value.starts_with("HTTP/");
  if (pair.name == ":authority") return false;
  builder.add(line_of(pair.name == ":host" ? ":authority" : pair.name, pair.value));
  return true;
}

bool add_field(const Field& pair, RequestHeadBuilder& builder) {
  if (pair.name == "host") return false;
  return split_value(pair.value, [&](std::string_view value) {
    if (!builder.is_flood()) builder.add(line_of(pair.name, value));
  });
}

HeadVerdict verdict_of(bool well_formed, RequestHeadBuilder& builder) noexcept {
  if (builder.is_flood()) return HeadVerdict::flood;
  return well_formed && builder.validate() ? HeadVerdict::good : HeadVerdict::malformed;
}

bool is_complete(std::span<const Field> pairs) noexcept {
  constexpr std::array<std::string_view, 5> required = {":method", ":path", ":version", ":host",
                                                        ":scheme"};
  return std::ranges::all_of(required, [pairs](std::string_view name) {
    return std::ranges::find(pairs, name, &Field::name) != pairs.end();
  });
}

}  // namespace

// The pairs have no order, but the builder wants the special ones first.
HeadVerdict read_head(std::span<const Field> pairs, RequestHeadBuilder& builder) {
  if (!is_complete(pairs)) return HeadVerdict::incomplete;
  bool well_formed = true;
  for (const Field& pair : pairs) {
    if (is_special(pair.name)) well_formed = add_special(pair, builder) && well_formed;
  }
  for (const Field& pair : pairs) {
    if (!is_special(pair.name)) well_formed = add_field(pair, builder) && well_formed;
  }
  return verdict_of(well_formed, builder);
}

HeadVerdict read_trailers(std::span<const Field> pairs, RequestHeadBuilder& builder) {
  bool well_formed = true;
  for (const Field& pair : pairs) well_formed = add_field(pair, builder) && well_formed;
  return verdict_of(well_formed, builder);
}

}  // namespace h2server::lab::spdy
