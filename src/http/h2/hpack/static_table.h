// The static table of HPACK (RFC 7541, appendix A).
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "http/h2/hpack/token.h"

namespace h2server::http::h2::hpack {

struct StaticEntry {
  std::string_view name;
  std::string_view value;
  Token token;
};

inline constexpr std::uint32_t static_count = 61;

// Entry 0 is unused: indices begin with 1.
inline constexpr std::array<StaticEntry, static_count + 1> static_table = {{
    {"", "", Token::none},
    {":authority", "", Token::authority},
    {":method", "GET", Token::method},
    {":method", "POST", Token::method},
    {":path", "/", Token::path},
    {":path", "/index.html", Token::path},
    {":scheme", "http", Token::scheme},
    {":scheme", "https", Token::scheme},
    {":status", "200", Token::status},
    {":status", "204", Token::status},
    {":status", "206", Token::status},
    {":status", "304", Token::status},
    {":status", "400", Token::status},
    {":status", "404", Token::status},
    {":status", "500", Token::status},
    {"accept-charset", "", Token::accept_charset},
    {"accept-encoding", "gzip, deflate", Token::accept_encoding},
    {"accept-language", "", Token::accept_language},
    {"accept-ranges", "", Token::accept_ranges},
    {"accept", "", Token::accept},
    {"access-control-allow-origin", "", Token::access_control_allow_origin},
    {"age", "", Token::age},
    {"allow", "", Token::allow},
    {"authorization", "", Token::authorization},
    {"cache-control", "", Token::cache_control},
    {"content-disposition", "", Token::content_disposition},
    {"content-encoding", "", Token::content_encoding},
    {"content-language", "", Token::content_language},
    {"content-length", "", Token::content_length},
    {"content-location", "", Token::content_location},
    {"content-range", "", Token::content_range},
    {"content-type", "", Token::content_type},
    {"cookie", "", Token::cookie},
    {"date", "", Token::date},
    {"etag", "", Token::etag},
    {"expect", "", Token::expect},
    {"expires", "", Token::expires},
    {"from", "", Token::from},
    {"host", "", Token::host},
    {"if-match", "", Token::if_match},
    {"if-modified-since", "", Token::if_modified_since},
    {"if-none-match", "", Token::if_none_match},
    {"if-range", "", Token::if_range},
    {"if-unmodified-since", "", Token::if_unmodified_since},
    {"last-modified", "", Token::last_modified},
    {"link", "", Token::link},
    {"location", "", Token::location},
    {"max-forwards", "", Token::max_forwards},
    {"proxy-authenticate", "", Token::proxy_authenticate},
    {"proxy-authorization", "", Token::proxy_authorization},
    {"range", "", Token::range},
    {"referer", "", Token::referer},
    {"refresh", "", Token::refresh},
    {"retry-after", "", Token::retry_after},
    {"server", "", Token::server},
    {"set-cookie", "", Token::set_cookie},
    {"strict-transport-security", "", Token::strict_transport_security},
    {"transfer-encoding", "", Token::transfer_encoding},
    {"user-agent", "", Token::user_agent},
    {"vary", "", Token::vary},
    {"via", "", Token::via},
    {"www-authenticate", "", Token::www_authenticate},
}};

// By token: the index of the first entry with that name, or 0 if the table does not have it.
inline constexpr std::array<std::uint8_t, token_count> static_index_of_name = [] {
  std::array<std::uint8_t, token_count> made{};
  for (std::uint32_t i = static_count; i > 0; --i) {
    made[static_cast<std::size_t>(static_table[i].token)] = static_cast<std::uint8_t>(i);
  }
  return made;
}();

}  // namespace h2server::http::h2::hpack
